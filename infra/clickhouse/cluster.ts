const RENAME = /^\s*RENAME TABLE\s/i;

/**
 * The same definitions on a cluster: what makes, changes or drops a table does it on every replica, and a table
 * that keeps rows replicates them. Statements about rows are left as they are; replicas share those themselves.
 */
export function onCluster(statement: string, cluster: string): string {
  const made =
    /^(\s*(?:CREATE|DROP)\s+(?:DATABASE|TABLE|MATERIALIZED VIEW)(?:\s+IF (?:NOT )?EXISTS)?\s+|\s*TRUNCATE TABLE\s+|\s*ALTER TABLE\s+)([\w.`]+)/i;
  if (RENAME.test(statement)) return `${statement} ON CLUSTER ${cluster}`;
  if (!made.test(statement)) return statement;
  const there = statement.replace(made, (_all, verb, name) => `${verb}${name} ON CLUSTER ${cluster}`);
  return there.replace(/(\bENGINE\s*=\s*)((?:[A-Z]\w*)?MergeTree\b)/, '$1Replicated$2');
}

const RENAME = /^\s*RENAME TABLE\s/i;
/** Statements that replicated tables replicate themselves. ON CLUSTER could reach a replica that lacks the rows. */
const OF_PARTITION = /^\s*ALTER TABLE\s+\S+\s+(?:REPLACE|DROP)\s+PARTITION\s/i;

/**
 * Rewrites DDL for a cluster: adds ON CLUSTER, and replaces MergeTree engines with replicated ones. Other statements are
 * returned unchanged, since replicas exchange rows themselves.
 */
export function onCluster(statement: string, cluster: string): string {
  const ddl =
    /^(\s*(?:CREATE|DROP)\s+(?:DATABASE|TABLE|MATERIALIZED VIEW)(?:\s+IF (?:NOT )?EXISTS)?\s+|\s*TRUNCATE TABLE\s+|\s*ALTER TABLE\s+)([\w.`]+)/i;
  if (RENAME.test(statement)) return `${statement} ON CLUSTER ${cluster}`;
  if (!ddl.test(statement) || OF_PARTITION.test(statement)) return statement;
  const onEvery = statement.replace(ddl, (_all, verb, name) => `${verb}${name} ON CLUSTER ${cluster}`);
  return onEvery.replace(/(\bENGINE\s*=\s*)((?:[A-Z]\w*)?MergeTree\b)/, '$1Replicated$2');
}

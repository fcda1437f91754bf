import { SEVERITIES, type Severity } from '../../../aggregate/alerts/model/alert.ts';
import type { Path } from '../../../aggregate/alerts/model/mapping.ts';
import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import { formatPath, parsePaths } from '../integrations/path-syntax.ts';
import { requireRules } from '../integrations/rules-schema.ts';
import { RequestRefused } from '../model/access.ts';
import { select } from './frame.ts';

/** Texts of the fields by their names. */
export type RulesTexts = Readonly<Record<Field, string>>;
type Field = (typeof FIELDS)[number];

const FIELDS = [
  'tool',
  'fields',
  'status_path',
  'resolved',
  'acknowledged',
  'ignored',
  'fingerprint',
  'severity_path',
  'severity_words',
  'severity_otherwise',
  'labels',
] as const;

const linesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

export function textsOfRules({
  tool = '',
  fields,
  status,
  fingerprint,
  severity,
  labels,
}: SenderRules): RulesTexts {
  const pathsText = (paths: readonly Path[]) => paths.map(formatPath).join(', ');
  const lines = (record: Readonly<Record<string, string>>) =>
    Object.entries(record)
      .map((entry) => entry.join(' = '))
      .join('\n');
  const mapped = <T>(record: Readonly<Record<string, T>>, text: (value: T) => string) =>
    lines(Object.fromEntries(Object.entries(record).map(([name, value]) => [name, text(value)])));
  return {
    tool,
    fields: mapped((fields ?? {}) as Readonly<Record<string, readonly Path[]>>, pathsText),
    status_path: status ? formatPath(status.path) : '',
    resolved: (status?.resolved ?? []).join('\n'),
    acknowledged: (status?.acknowledged ?? []).join('\n'),
    ignored: (status?.ignored ?? []).join('\n'),
    fingerprint: (fingerprint ?? []).map(pathsText).join('\n'),
    severity_path: severity ? formatPath(severity.path) : '',
    severity_words: lines(severity?.words ?? {}),
    severity_otherwise: severity?.otherwise ?? 'critical',
    labels: mapped(labels ?? {}, formatPath),
  };
}

export const textsOfForm = (form: Form): RulesTexts =>
  Object.fromEntries(FIELDS.map((name) => [name, form.text(name)])) as RulesTexts;

/** Parses the rules in a form. Throws if a rule is not valid. */
export function rulesOfTexts(texts: RulesTexts): SenderRules {
  const words = { resolved: linesOf(texts.resolved), acknowledged: linesOf(texts.acknowledged) };
  const ignored = linesOf(texts.ignored);
  const hasStatus = [texts.status_path, ...words.resolved, ...words.acknowledged, ...ignored].some(isFilled);
  const severityWords = entriesOf(texts.severity_words, 'severity_words');
  const hasSeverity = isFilled(texts.severity_path) || severityWords.length > 0;
  const fields = entriesOf(texts.fields, 'fields');
  const labels = entriesOf(texts.labels, 'labels');
  const fingerprint = linesOf(texts.fingerprint);
  return requireRules({
    ...(isFilled(texts.tool) && { tool: texts.tool }),
    ...(fields.length > 0 && {
      fields: Object.fromEntries(fields.map(([name, text]) => [name, requirePaths(text, 'fields')])),
    }),
    ...(hasStatus && {
      status: { path: requirePath(texts.status_path, 'status_path'), ...words, ignored },
    }),
    ...(fingerprint.length > 0 && {
      fingerprint: fingerprint.map((line) => requirePaths(line, 'fingerprint')),
    }),
    ...(hasSeverity && {
      severity: {
        path: requirePath(texts.severity_path, 'severity_path'),
        words: Object.fromEntries(severityWords),
        otherwise: texts.severity_otherwise as Severity,
      },
    }),
    ...(labels.length > 0 && {
      labels: Object.fromEntries(labels.map(([name, text]) => [name, requirePath(text, 'labels')])),
    }),
  });
}

const isFilled = (text: string): boolean => text.trim() !== '';

const refused = (field: Field, text: string) => new RequestRefused('bad_request', text, field);

/** Parses lines of `name = value`. Words of a severity may contain equals signs, as may quoted paths. */
function entriesOf(text: string, field: Field): [string, string][] {
  return linesOf(text).map((line) => {
    const separated = field === 'severity_words' ? /^(.*\S)\s*=\s*(\S.*)$/ : /^([^=]*[^=\s])\s*=\s*(\S.*)$/;
    const [, name, value] = separated.exec(line) ?? [];
    if (name === undefined || value === undefined) throw refused(field, `Enter “${line}” as name = value.`);
    return [name, value];
  });
}

function requirePaths(text: string, field: Field): Path[] {
  const paths = parsePaths(text);
  if (paths === null || paths.length === 0)
    throw refused(field, `“${text}” is not a path. Separate names with periods, such as data.state.`);
  return paths;
}

function requirePath(text: string, field: Field): Path {
  const [path, ...others] = requirePaths(text, field);
  if (path === undefined || others.length > 0) throw refused(field, 'Enter one path.');
  return path;
}

/** The fields of the form, with the fault of the one that was refused. */
export const rulesFields = (texts: RulesTexts, error?: RequestRefused): Html => {
  const state = { texts, error };
  return html`
${input(state, 'tool', 'Monitoring tool', 'For payloads that name no tool.')}
${area(state, 'fields', 'Fields', 'One per line, with one or more paths: title = data.title, data.name. The first path with a value counts. Fields: title, description, start_time, end_time, service, monitoring_tool, hosts, environment.')}
${input(state, 'status_path', 'Path of the status', 'Every word fires, except the words below. Without a status, an end time resolves.')}
${area(state, 'resolved', 'Words that resolve', 'One per line. Case does not matter. Numbers, true and false are words too.')}
${area(state, 'acknowledged', 'Words that acknowledge', 'One per line.')}
${area(state, 'ignored', 'Words that are ignored', 'One per line.')}
${area(state, 'fingerprint', 'Fingerprint', 'One alternative per line, each with one or more paths: monitor.id, host. The first alternative without a blank value counts.')}
${input(state, 'severity_path', 'Path of the severity', 'Without it, the field severity is read.')}
${area(state, 'severity_words', 'Severities', `One per line: P1 = critical. Severities: ${SEVERITIES.join(', ')}.`)}
<div class="picker">${select(
    'severity_otherwise',
    'Severity of every other word',
    SEVERITIES.map((severity): [string, string] => [severity, severity]),
    texts.severity_otherwise,
  )}</div>
${area(state, 'labels', 'Labels', 'One per line: team = data.owner. Routes and silences match these labels before those of the payload.')}`;
};

interface Entered {
  readonly texts: RulesTexts;
  readonly error: RequestRefused | undefined;
}

/** Paths in the schema of rules by field of the form. */
const PARTS: Readonly<Partial<Record<Field, string>>> = {
  tool: 'rules.tool',
  fields: 'rules.fields',
  status_path: 'rules.status.path',
  resolved: 'rules.status.resolved',
  acknowledged: 'rules.status.acknowledged',
  ignored: 'rules.status.ignored',
  fingerprint: 'rules.fingerprint',
  severity_path: 'rules.severity.path',
  severity_words: 'rules.severity.words',
  labels: 'rules.labels',
};

/** The field of an error; undefined if it concerns the whole form. */
export const fieldOf = (error: RequestRefused): Field | undefined =>
  FIELDS.find((name) => error.field === name || error.field?.startsWith(PARTS[name] ?? 'none'));

const faultOf = (name: Field, error: RequestRefused | undefined) =>
  error !== undefined && fieldOf(error) === name ? error.message : null;

const input = ({ texts, error }: Entered, name: Field, label: string, hint: string): Html =>
  textField({ name, label, hint, value: texts[name], required: false, fault: faultOf(name, error) });

const area = ({ texts, error }: Entered, name: Field, label: string, hint: string): Html =>
  textField({ name, label, hint, value: texts[name], required: false, rows: 3, fault: faultOf(name, error) });

import type { Finding } from '../../../../infra/finding.ts';
import { parseNode } from '../arguments.ts';
import { paint } from '../colour.ts';
import { command, jsonOption, print } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';

export const doctor = command<[], { json?: boolean; node?: string }>({
  name: 'doctor',
  description: 'check settings, ports, services, mail, store and disk, and suggest fixes',
  args: (command) =>
    jsonOption(command).option(
      '--node <url>',
      'check only this node: the data that it serves, and its speed',
      parseNode,
    ),
  help: `Checks the settings, the data directory and its disk, the store, clocks, ports and the mail server; with
PROFILE=distributed also Kafka, Redis and ClickHouse. If a server runs on DATA_DIR, that server checks its own settings and
store. The command changes nothing. \`chain-metrics check\` also verifies all stored data, which takes longer.

--node checks a node instead: its chain, methods, head, the age of its oldest state, and how fast its last blocks can be
fetched, verified and decoded.

Examples:
  chain-metrics doctor
  chain-metrics doctor --node wss://127.0.0.1:9944
  chain-metrics doctor --json | jq '.findings[] | select(.state != "ok")'

Exit code 1: a check failed; warnings alone exit with 0.`,
  // Reports wrong settings instead of failing on them.
  needsConfig: false,
  run: async ({ options, version }) => {
    const { examine, examineNode } = await import('../doctor.ts');
    const findings = await (options.node === undefined
      ? examine(process.env)
      : examineNode(options.node, process.env));
    print({ version, findings }, options, () => textOf(findings));
    return count(findings, 'failed') > 0 ? EXIT.failure : EXIT.ok;
  },
});

const count = (findings: readonly Finding[], state: Finding['state']) =>
  findings.filter((finding) => finding.state === state).length;

const STATE_CHARACTERS = 'warning'.length;
const STYLES = { ok: 'good', warning: 'caution', failed: 'bad' } as const;

function textOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = ' '.repeat(STATE_CHARACTERS + 2 + width + 2);
  const lines = findings.flatMap(({ check, state, text, remedy }) => [
    `${paint(STYLES[state], state.padEnd(STATE_CHARACTERS))}  ${check.padEnd(width)}  ${text}`,
    ...(remedy === null ? [] : [`${indent}→ ${remedy}`]),
  ]);
  const [warnings, failures] = [count(findings, 'warning'), count(findings, 'failed')];
  return `${lines.join('\n')}\n\n${plural(findings.length, 'check')}: ${count(findings, 'ok')} ok, ${plural(warnings, 'warning')}, ${failures} failed\n`;
}

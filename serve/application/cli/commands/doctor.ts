import type { Finding } from '../../../../infra/finding.ts';
import { parseNode } from '../arguments.ts';
import { paint } from '../colour.ts';
import { command, jsonOption, print } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../words.ts';

export const doctor = command<[], { json?: boolean; node?: string }>({
  name: 'doctor',
  description: 'check settings, ports, services, mail, store and disk, and say what to do',
  args: (command) =>
    jsonOption(command).option(
      '--node <url>',
      'look at this node alone: what it can serve, and how fast',
      parseNode,
    ),
  help: `It checks the settings, the data directory and its disk, the store, clocks, ports and the mail server; with
PROFILE=distributed also Kafka, Redis and ClickHouse. While a server runs on the data directory, that server reports on its
own settings and store. Nothing is changed. \`chain-metrics check\` reads everything that is stored, which takes longer.

With --node it looks at a node instead: its chain, its methods, its head, how far back its state goes, and how fast its last
blocks are fetched, checked and decoded.

Examples:
  chain-metrics doctor
  chain-metrics doctor --node wss://127.0.0.1:9944
  chain-metrics doctor --json | jq '.findings[] | select(.state != "ok")'

Exit code 1: a check failed; warnings alone exit with 0.`,
  // It has to tell of wrong values, too.
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
  findings.filter((one) => one.state === state).length;

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

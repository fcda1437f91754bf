/**
 * Blocks straight from a node: against Sidecar over the same node, against Subsquid's decoder, and against a file of the
 * same blocks. The node replays recorded blocks in a process of its own.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import pMap from 'p-map';
import { fetchHeights } from '../../ingest/backfill/fetch-heights.ts';
import { decodeBlock } from '../../ingest/node/decode/block.ts';
import { LineBuffer } from '../../ingest/node/decode/line-buffer.ts';
import { NodeSource } from '../../ingest/node/node-source.ts';
import type { HeightRange } from '../../ingest/sources/heights.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { compare, type Figure, median, ms, readSizes, report } from './measure.ts';
import { installPeers, startSidecar, subsquidDecoder } from './node-peers.ts';
import { relayBlock } from './relay-block.ts';

const [GOAL_SPEED, GOAL_DECODE_MS, GOAL_DECODE, GOAL_WHOLE, GOAL_MIB] = [50, 2, 1.5, 1.4, 1024];
const CHAINS = ['coretime-westend', 'paseo'] as const;
/** Blocks that are fetched in a round, and in the backfill. */
const [FETCHED, SIDECAR_FETCHED, BACKFILLED] = [8000, 120, 10_000];
const AT_ONCE = 256;
const SIDECAR_AT_ONCE = 8;
const DECODED = 200;
const TICKS_PER_MS = 0.1;
const SAMPLE_MS = 100;
/** Blocks of a recording, about. */
const RECORDED = 64;

interface Node {
  readonly process: ChildProcess;
  /** What Sidecar serves of all its blocks. */
  readonly file: string;
  readonly ws: string;
  readonly http: string;
  readonly from: number;
  readonly to: number;
}

const rounds = Math.min(readSizes().rounds, 3);
using directory = temporaryDirectory();
const peers = join(directory.path, 'peers');
const hasPeers = tryToInstall();
const figures: Figure[] = [];
for (const name of CHAINS) figures.push(...(await measureSpeed(name)));
figures.push(await measureDecoding(), ...(await measureWhole()));
report(figures);
process.exit();

function tryToInstall(): boolean {
  try {
    installPeers(peers);
    return true;
  } catch (error) {
    console.error(`npm cannot install the peers, so their rows are left out: ${(error as Error).message}`);
    return false;
  }
}

async function startNode(name: string, blocks: number): Promise<Node> {
  const file = join(directory.path, `replayed-${name}.ndjson`);
  const child = fork(join(import.meta.dirname, 'node-server.ts'), [
    name,
    String(Math.ceil(blocks / RECORDED)),
    file,
  ]);
  const [told] = await once(child, 'message');
  return { ...told, process: child, file };
}

/** Blocks a second. */
async function measureSpeed(name: string): Promise<Figure[]> {
  const node = await startNode(name, FETCHED);
  using sidecar = hasPeers ? await startSidecar(peers, node.ws, await freePort()) : undefined;
  const found: Figure[] = [];
  // Sidecar reads the parent of a block, and that of the first is not there.
  const range = { from: node.from + 1, to: node.to };
  let next = range.from;
  for (const scheme of ['ws', 'http'] as const) {
    const source = await NodeSource.connect(node[scheme]);
    const fetchAll = () =>
      perSecond(range.to - node.from, () =>
        pipeline(Readable.from(linesOf(source, range)), createWriteStream('/dev/null')),
      );
    const askSidecar = () => {
      const heights = Array.from({ length: SIDECAR_FETCHED }, () => next++);
      const ask = async (height: number): Promise<string> => {
        const answer = await fetch(`${sidecar?.url}/blocks/${height}`);
        if (!answer.ok) throw new Error(`Sidecar: ${await answer.text()}`);
        return answer.text();
      };
      return perSecond(SIDECAR_FETCHED, () => pMap(heights, ask, { concurrency: SIDECAR_AT_ONCE }));
    };
    const work = `blocks of ${name} from a node by ${scheme}, lines written`;
    if (!sidecar) {
      found.push({
        ...{ work, peer: '', goal: '' },
        figure: `${Math.round(await fetchAll())} a second`,
        met: true,
      });
      continue;
    }
    const { product, peer, ratio } = await compare(rounds, fetchAll, askSidecar);
    found.push({
      ...{ work, peer: 'Sidecar 18 over the same node', ratio, goal: `>= ${GOAL_SPEED}` },
      figure: `${Math.round(product)} against ${peer.toFixed(1)} a second`,
      met: ratio >= GOAL_SPEED,
    });
  }
  node.process.kill();
  return found;
}

async function* linesOf(source: NodeSource, range: HeightRange): AsyncGenerator<Buffer> {
  for await (const height of fetchHeights(source, [range], AT_ONCE)) {
    if (!('line' in height)) throw new Error(height.reason);
    yield height.line;
  }
}

async function perSecond(blocks: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (blocks / (performance.now() - began)) * 1000;
}

/** Processor time of one block. */
async function measureDecoding(): Promise<Figure> {
  const { block, metadata, runtime, bytes } = relayBlock();
  const lines = new LineBuffer();
  const ours = async () =>
    processorTime(() => {
      lines.add(decodeBlock(runtime, block).texts);
      return lines.take();
    });
  const work = `decoding a block of a relay chain, ${Math.round(bytes / 1000)} kB raw, processor time`;
  if (!hasPeers) {
    const times = [];
    for (let round = 0; round <= rounds; round++) times.push(await ours());
    const own = median(times.slice(1));
    return {
      ...{ work, peer: '' },
      figure: ms(own),
      goal: `<= ${GOAL_DECODE_MS} ms`,
      met: own <= GOAL_DECODE_MS,
    };
  }
  const decode = await subsquidDecoder(peers, metadata);
  const { product, peer, ratio } = await compare(rounds, ours, async () =>
    processorTime(() => decode(block)),
  );
  return {
    ...{ work, peer: "Subsquid's decoder, to its own shape", ratio: 1 / ratio },
    figure: `${product.toFixed(2)} against ${peer.toFixed(2)} ms`,
    goal: `<= ${GOAL_DECODE_MS} ms, >= ${GOAL_DECODE}`,
    met: product <= GOAL_DECODE_MS && 1 / ratio >= GOAL_DECODE,
  };
}

function processorTime(work: () => unknown): number {
  const before = process.cpuUsage();
  for (let i = 0; i < DECODED; i++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / DECODED;
}

/** The whole command, metrics included, into an empty directory. */
async function measureWhole(): Promise<Figure[]> {
  const name = 'paseo';
  const node = await startNode(name, BACKFILLED);
  const blocks = node.to - node.from + 1;
  const chains = join(directory.path, 'chains.json');
  const known = { relay_chain: 'solo', ss58_prefix: 42, token: 'PAS', decimals: 10 };
  writeFileSync(
    chains,
    JSON.stringify([{ ...known, name: `replayed-${name}`, genesis: `0x${'00'.repeat(32)}` }]),
  );
  let stores = 0;
  const peaks: Record<string, number> = {};
  const run = async (command: string, ...args: string[]) => {
    const store = join(directory.path, `store-${++stores}`);
    const ended = await runCommand([command, ...args], { DATA_DIR: store, CHAINS_FILE: chains });
    peaks[command] = Math.max(peaks[command] ?? 0, ended.peakMiB);
    return ended.milliseconds;
  };
  const { product, peer, ratio } = await compare(
    rounds,
    () => run('backfill', '--node', node.ws, '--from', String(node.from)),
    () => run('ingest', node.file),
  );
  node.process.kill();
  const peak = peaks.backfill ?? 0;
  return [
    {
      work: `${blocks} blocks from a node to all metrics, processor time`,
      peer: 'the same blocks from a file of Sidecar',
      figure: `${ms(product)} against ${ms(peer)}`,
      ratio,
      goal: `<= ${GOAL_WHOLE}`,
      met: ratio <= GOAL_WHOLE,
    },
    {
      work: 'memory while they are fetched, loaded and computed',
      peer: '',
      figure: `${peak} MiB`,
      goal: `<= ${GOAL_MIB} MiB`,
      met: peak <= GOAL_MIB,
      details: [`from the file: ${peaks.ingest} MiB`],
    },
  ];
}

async function runCommand(args: readonly string[], settings: Readonly<Record<string, string>>) {
  const before = childrenMs();
  const child = spawn(join(import.meta.dirname, '../../serve/chain-metrics'), args, {
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  let peakMiB = 0;
  const sampler = setInterval(() => {
    peakMiB = Math.max(peakMiB, peakOf(child.pid as number));
  }, SAMPLE_MS);
  const [code] = await once(child, 'exit');
  clearInterval(sampler);
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${await said}`);
  return { milliseconds: childrenMs() - before, peakMiB };
}

/** The highest resident memory of a process so far. */
function peakOf(pid: number): number {
  try {
    return Math.round(
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
    );
  } catch {
    // It has just ended.
    return 0;
  }
}

/** Processor time of the processes that this one has started and that have ended. */
function childrenMs(): number {
  const text = readFileSync('/proc/self/stat', 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_MS;
}

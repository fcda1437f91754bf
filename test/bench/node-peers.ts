import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RawBlock } from '../../ingest/node/decode/block.ts';
import { bytesOf } from '../../ingest/node/decode/cursor.ts';

// Peers that the product does not depend on, installed by npm into a directory of their own.

const SIDECAR = '@substrate/api-sidecar';
const SUBSQUID = '@subsquid/substrate-runtime';
const VERSIONS = { [SIDECAR]: '18.0.0', [SUBSQUID]: '2.0.1', '@subsquid/util-internal-json': '1.2.3' };
const START_MS = 60_000;

export function installPeers(directory: string): void {
  const packages = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', directory];
  execFileSync('npm', [...args, ...packages], { stdio: 'ignore' });
  // The routes for unknown chains give no fees; those for the production chains do.
  const routes = join(directory, 'node_modules', SIDECAR, 'build/src/chains-config/defaultControllers.js');
  const text = readFileSync(routes, 'utf8');
  writeFileSync(routes, text.replace('minCalcFeeRuntime: null', 'minCalcFeeRuntime: 0'));
}

export interface Sidecar extends Disposable {
  readonly url: string;
}

export async function startSidecar(directory: string, node: string, port: number): Promise<Sidecar> {
  const child = spawn(process.execPath, [join(directory, 'node_modules', SIDECAR, 'build/src/main.js')], {
    env: {
      ...{ PATH: process.env.PATH, NODE_ENV: 'production', SAS_LOG_LEVEL: 'error' },
      ...{ SAS_SUBSTRATE_URL: node, SAS_EXPRESS_PORT: String(port) },
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const kill = () => void child.kill();
  process.on('exit', kill);
  const url = `http://127.0.0.1:${port}`;
  const until = performance.now() + START_MS;
  for (;;) {
    const isReady = await fetch(`${url}/node/version`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url, [Symbol.dispose]: kill };
    if (child.exitCode !== null || performance.now() > until) throw new Error('Sidecar did not start');
    await pause(200);
  }
}

/** Decodes to Subsquid's own shape as text, each extrinsic with its hash by the library that Subsquid uses. */
export async function subsquidDecoder(
  directory: string,
  metadata: Uint8Array,
): Promise<(block: Pick<RawBlock, 'extrinsics' | 'events'>) => number> {
  const require = createRequire(join(directory, 'package.json'));
  const { Runtime } = require(SUBSQUID);
  // When its WebAssembly is compiled, the package gives another function, which is many times faster.
  await new Promise((resolve) => require('blake2b').ready(resolve));
  const blake2b = require('blake2b');
  const { toJSON } = require('@subsquid/util-internal-json');
  const version = { specName: 'paseo', specVersion: 1_001_002, implName: 'paseo', implVersion: 0 };
  const runtime = new Runtime(version, metadata);
  return ({ extrinsics, events }) => {
    const decoded = extrinsics.map((extrinsic) => {
      const bytes = bytesOf(extrinsic);
      return { ...runtime.decodeExtrinsic(bytes), hash: blake2b(32).update(bytes).digest('hex') };
    });
    const list = runtime.decodeStorageValue('System.Events', events);
    return JSON.stringify(toJSON({ extrinsics: decoded, events: list })).length;
  };
}

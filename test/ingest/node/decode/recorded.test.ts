import { describe, expect, test } from 'vitest';
import { decodeBlock } from '../../../../ingest/node/decode/block.ts';
import { checkBlock, headerHash } from '../../../../ingest/node/decode/check.ts';
import { bytesOf } from '../../../../ingest/node/decode/cursor.ts';
import { blake2Hex } from '../../../../ingest/node/decode/hash.ts';
import { readRuntime } from '../../../../ingest/node/decode/runtime.ts';
import { CHAINS, Recording, sidecarLines, trueBlocks } from './recorded.ts';

describe.each(CHAINS)('blocks of %s', (chain) => {
  const recording = new Recording(chain);
  const lines = sidecarLines(chain);
  const blocks = lines.map((line) => recording.block(Number(JSON.parse(line).number)));

  test.each([
    [14, recording.metadata()],
    [15, recording.newestMetadata()],
  ])('are what Sidecar answers, by metadata of version %i', (version, metadata) => {
    expect(metadata[4]).toBe(version);
    const runtime = readRuntime(metadata);
    for (const [index, block] of blocks.entries()) {
      const { texts, undecodedCalls } = decodeBlock(runtime, block);
      expect(texts.join('')).toBe(lines[index]);
      expect(undecodedCalls).toBe(0);
    }
  });

  test('have the hashes that were recorded, also of their extrinsics', () => {
    for (const { hash, header, extrinsics } of blocks) {
      expect(headerHash(header)).toBe(hash);
      expect(blake2Hex(Buffer.concat(extrinsics.map(bytesOf)))).toBe(header.extrinsicsRoot);
    }
  });

  test('pass every check with the roots that a chain has', () => {
    const runtime = readRuntime(recording.metadata());
    let parent: string | undefined;
    for (const block of trueBlocks(runtime, blocks).values()) {
      expect(checkBlock(runtime, block, parent)).toBe(null);
      parent = block.hash;
    }
  });
});

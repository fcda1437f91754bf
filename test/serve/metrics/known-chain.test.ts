import { describe, expect, it } from 'vitest';
import { nearestName } from '../../../infra/nearest-name.ts';
import { loadRegistry } from '../../../ingest/chains/registry.ts';
import { ParameterError } from '../../../serve/http/errors.ts';
import { requireKnownChain } from '../../../serve/metrics/known-chain.ts';

const registry = loadRegistry();

function faultOf(
  values: { relay_chain?: string; chain?: string },
  relays: readonly ('polkadot' | 'kusama')[],
) {
  try {
    requireKnownChain(values, { relays }, registry);
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(ParameterError);
    return (error as ParameterError).detail[0]?.msg;
  }
}

describe('the name of a chain', () => {
  it.each([
    ['polkadt', 'polkadot'],
    ['Polkadto', 'polkadot'],
    ['kusma', 'kusama'],
    ['asset-hub-polkadt', 'asset-hub-polkadot'],
    ['moonbeem', 'moonbeam'],
    ['statemin', 'statemint'],
    ['atlantis', null],
    ['<script>', null],
    ['', null],
    ['x'.repeat(10_000), null],
  ])('%.20s is nearest to %s', (text, near) => {
    const names = registry.chains.flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(nearestName(text, names)).toBe(near);
  });

  it('is refused in words when no chain has it, with the one that was meant', () => {
    expect(faultOf({ chain: 'polkadt' }, ['polkadot'])).toBe(
      'no chain is called that: did you mean polkadot?',
    );
    expect(faultOf({ chain: 'atlantis' }, ['polkadot'])).toBe('no chain is called that');
  });

  it('is refused in words when its chain has no rows there', () => {
    expect(faultOf({ chain: 'moonbeam', relay_chain: 'kusama' }, ['polkadot', 'kusama'])).toBe(
      'moonbeam is a chain of polkadot, not of kusama',
    );
    expect(faultOf({ chain: 'moonriver' }, ['polkadot'])).toBe(
      'moonriver is a chain of kusama; this list covers only polkadot',
    );
  });

  it.each([
    {},
    { chain: 'ecosystem' },
    { chain: 'statemint' },
    { chain: 'moonbeam', relay_chain: 'polkadot' },
  ])('is fine in %j', (values) => {
    expect(faultOf(values, ['polkadot'])).toBeNull();
  });
});

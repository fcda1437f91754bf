import { z } from 'zod';
import { amount, count, textOfBytes } from './shapes.ts';
import type { BlockState } from './state.ts';

/** In the order of their numbers. */
const CONVICTIONS = ['None', 'Locked1x', 'Locked2x', 'Locked3x', 'Locked4x', 'Locked5x', 'Locked6x'] as const;

const key = z.tuple([z.string(), count]);
const delegating = z.object({
  delegating: z.object({ balance: amount, target: z.string(), conviction: z.enum(CONVICTIONS) }),
});

/** Delegations of votes. Leaves out votes that accounts cast themselves. */
export async function delegations(state: BlockState): Promise<object> {
  const found: object[] = [];
  for await (const page of state.entries('ConvictionVoting', 'VotingFor')) {
    for (const { parts, value } of page) {
      if (!z.object({ delegating: z.unknown() }).safeParse(value).success) continue;
      const [delegator, track] = key.parse(parts);
      const { target, conviction, balance } = delegating.parse(value).delegating;
      const level = CONVICTIONS.indexOf(conviction);
      found.push({ delegator, target, track, conviction: level, balance: String(balance) });
    }
  }
  return { delegations: found };
}

const info = z.object({ name: textOfBytes });
const track = z.union([
  z.tuple([count, info]).transform(([id, { name }]) => ({ id, name })),
  z.object({ id: count, info }).transform(({ id, info }) => ({ id, name: info.name })),
]);

/** Each track is named after its origin: `big_spender` is the track of BigSpender. */
const originOf = (name: string): string =>
  name.replace(/(?:^|[_\s])+([a-z])/g, (_, letter: string) => letter.toUpperCase());

export async function trackTable(state: BlockState): Promise<object> {
  const tracks = z.array(track).parse(state.constant('Referenda', 'Tracks'));
  return {
    tracks: tracks.map(({ id, name: stored }) => {
      // Newer runtimes pad names with zeros.
      const name = stored.replace(/\0+$/, '');
      return { id, name, origin: originOf(name) };
    }),
  };
}

import { z } from 'zod';
import { DAY_MS } from '../../../infra/days.ts';
import { millisecondsOf, type ValueAdapter } from './adapter.ts';

const MS = 1000;
/** Prices are requested for this long before the end of each day: a price within `NEAR_SECONDS` is still of that day. */
const BEFORE_END_MS = 45 * 60_000;
/** The feed returns the price that is nearest to the requested time, if it is within this distance. */
const NEAR_SECONDS = 30 * 60;

const chart = z.object({
  coins: z.record(
    z.string(),
    z.object({ prices: z.array(z.object({ timestamp: z.unknown(), price: z.unknown() })) }),
  ),
});
/** The answer for locked value. It has all days of the chain. */
const history = z.array(z.object({ date: z.unknown(), tvl: z.unknown() }));

/** DefiLlama's prices of coins, and the value that is locked on chains. */
export const defillama: ValueAdapter = {
  name: 'defillama',
  requestsPerMinute: 30,
  routes: {
    price: {
      url: 'https://coins.llama.fi',
      daysMax: 300,
      path: (id, { from, until }) =>
        `/chart/${encodeURIComponent(id).replaceAll('%3A', ':')}?start=${(from + DAY_MS - BEFORE_END_MS) / MS}` +
        `&span=${(until - from) / DAY_MS}&period=1d&searchWidth=${NEAR_SECONDS}`,
      answer: (id) =>
        chart.transform(({ coins }) =>
          (coins[id]?.prices ?? []).map(({ timestamp, price }) => ({
            time: millisecondsOf(timestamp),
            usd: price,
          })),
        ),
    },
    tvl: {
      url: 'https://api.llama.fi',
      daysMax: null,
      path: (id) => `/v2/historicalChainTvl/${encodeURIComponent(id)}`,
      answer: () =>
        history.transform((points) =>
          points.map(({ date, tvl }) => ({ time: millisecondsOf(date), usd: tvl })),
        ),
    },
  },
};

import { z } from 'zod';
import type { ValueAdapter } from './adapter.ts';

const MS = 1000;

const chart = z.object({ prices: z.array(z.tuple([z.unknown(), z.unknown()]).rest(z.unknown())) });

/** CoinGecko's chart of a coin, and services with the same API. */
export const coingecko: ValueAdapter = {
  name: 'coingecko',
  requestsPerMinute: 10,
  routes: {
    price: {
      url: 'https://api.coingecko.com/api/v3',
      // Ranges of up to 90 days have hourly values, with the close of each day. Longer ranges have only its first value.
      daysMax: 89,
      path: (id, { from, until }) =>
        `/coins/${encodeURIComponent(id)}/market_chart/range?vs_currency=usd&from=${from / MS}&to=${until / MS - 1}&precision=full`,
      answer: () => chart.transform(({ prices }) => prices.map(([time, usd]) => ({ time, usd }))),
    },
  },
  keyHeader: (url) => (new URL(url).hostname.startsWith('pro-') ? 'x-cg-pro-api-key' : 'x-cg-demo-api-key'),
};

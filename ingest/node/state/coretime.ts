import { z } from 'zod';
import { amount, count } from './shapes.ts';
import type { BlockState } from './state.ts';

const planck = amount.transform(String);

const sale = z
  .object({
    saleStart: count,
    leadinLength: count,
    // The price at the end of the lead-in, called `price` in older runtimes.
    endPrice: planck.optional(),
    price: planck.optional(),
    regionBegin: count,
    regionEnd: count,
    idealCoresSold: count,
    coresOffered: count,
    firstCore: count,
    selloutPrice: planck.nullable(),
    coresSold: count,
  })
  .refine(({ endPrice, price }) => endPrice !== undefined || price !== undefined, 'has no end price');
const schedule = z.array(z.object({ mask: z.string(), assignment: z.unknown() }));
const lease = z.object({ task: count, until: count });
const status = z.object({ coreCount: count });

export async function coretimeConfig(state: BlockState): Promise<object> {
  const stored = await state.value('Broker', 'SaleInfo');
  const statusRecord = await state.value('Broker', 'Status');
  if (stored === null || statusRecord === null) throw new Error('no sale has begun yet');
  const info = sale.parse(stored);
  return {
    sale_info: {
      sale_start: info.saleStart,
      leadin_length: info.leadinLength,
      end_price: info.endPrice ?? info.price,
      region_begin: info.regionBegin,
      region_end: info.regionEnd,
      ideal_cores_sold: info.idealCoresSold,
      cores_offered: info.coresOffered,
      first_core: info.firstCore,
      sellout_price: info.selloutPrice,
      cores_sold: info.coresSold,
    },
    reservations: z.array(schedule).parse(await state.value('Broker', 'Reservations')),
    leases: z.array(lease).parse(await state.value('Broker', 'Leases')),
    core_count: status.parse(statusRecord).coreCount,
  };
}

import { count, text, timestamp } from '../../columns.ts';
import { extrinsicId } from '../shared/facts.ts';
import type { DecodedBrokerEvent } from './folds/coretime-facts.ts';

export const placeColumns = {
  block_number: count('block of the coretime chain', { title: 'Block', unit: 'height' }),
  event_index: count('index of the event in the block, from 0', {
    title: 'Event index',
    unit: 'identifier',
  }),
  extrinsic_id: text('`<block>-<extrinsic>`; null outside of extrinsics', {
    title: 'Extrinsic',
    nullable: true,
  }),
  timestamp: timestamp('time of the block', { title: 'Time' }),
};

/** The values of `placeColumns`. */
export const placeOf = (
  occurrence: Pick<DecodedBrokerEvent, 'number' | 'event_index' | 'extrinsic_index' | 'time'>,
) => ({
  block_number: occurrence.number,
  event_index: occurrence.event_index,
  extrinsic_id: extrinsicId(occurrence),
  timestamp: occurrence.time,
});

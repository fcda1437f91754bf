import { expect, test } from 'vitest';
import { readBrokerEvent } from '../../../ingest/decode/broker.ts';
import {
  EVENT_FIELDS,
  fieldsOfEvent,
  type KnownEvent,
  lengthsOf,
  positionOf,
} from '../../../ingest/decode/event-fields.ts';
import { fieldSql, isComplete, partSql } from '../../../ingest/raw/views/event-facts.ts';

const known = Object.keys(EVENT_FIELDS) as KnownEvent[];

test('SQL counts positions from one, TypeScript from zero', () => {
  expect(positionOf('broker.Renewed', 'price')).toBe(1);
  expect(fieldSql('broker.Renewed', 'price', 'data')).toBe('data[2]');
});

test('an event is complete with each number of fields that runtimes emitted', () => {
  expect(isComplete('balances.Deposit', 'data')).toBe('length(data) = 2');
  expect(isComplete('balances.Transfer', 'data')).toBe('length(data) IN (3, 4)');
});

test('no event names more fields than its longest form has', () => {
  const tooLong = known.filter(
    (event) => (fieldsOfEvent(event) ?? []).length > Math.max(...lengthsOf(event)),
  );
  expect(tooLong).toEqual([]);
});

test('the store finds the last amount behind the fields before it', () => {
  const fact = String(known.indexOf('staking.Rewarded') + 1);
  const positions = partSql(fact, 'data', 'amount');
  expect(JSON.parse(/\[\[?([^\]]*)\]/.exec(positions)?.[0].slice(1) as string)[Number(fact) - 1]).toBe(-1);
});

test('an event of the broker is read by the same names', () => {
  const region = { begin: 1, core: 2, mask: `0x${'ff'.repeat(10)}` };
  const data = [JSON.stringify(region), '80', '', `0x${'01'.repeat(32)}`];
  expect(readBrokerEvent('Transferred', data)).toEqual({
    kind: 'Transferred',
    region,
    duration: 80,
    old_owner: null,
    owner: `0x${'01'.repeat(32)}`,
  });
  expect(readBrokerEvent('RegionUnpooled', [JSON.stringify(region), '1'])).toEqual({
    kind: 'RegionUnpooled',
    region,
  });
  expect(readBrokerEvent('Purchased', ['nobody', JSON.stringify(region), '1', '80'])).toBeNull();
  expect(readBrokerEvent('toString', [])).toBeNull();
});

import { expect, it } from 'vitest';
import { accountOfH160, h160Of } from '../../../../ingest/chains/h160.ts';
import { ALICE_KEY } from '../shapes/shape.ts';
import { ALICE_H160 } from './chain.ts';

it('the H160 address of an account is the last 20 bytes of the hash of its key', () => {
  expect(h160Of(ALICE_KEY)).toBe(ALICE_H160);
});

it('the account of an Ethereum address is the padded address, and converts back to it', () => {
  const account = accountOfH160(ALICE_H160);
  expect(account).toBe(`${ALICE_H160}eeeeeeeeeeeeeeeeeeeeeeee`);
  expect(h160Of(account)).toBe(ALICE_H160);
  expect(h160Of(ALICE_H160)).toBe(ALICE_H160);
});

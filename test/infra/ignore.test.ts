import { expect, test } from 'vitest';
import { ignore, ignoredErrors, markHandled } from '../../infra/ignore.ts';

test('an ignored error is counted by its place, and another value takes its place', async () => {
  const failing = () => Promise.reject(new Error('away'));
  expect(await failing().catch(ignore('test.list', []))).toEqual([]);
  expect(await failing().catch(ignore('test.list'))).toBeUndefined();
  const { values } = await ignoredErrors.get();
  expect(values.find(({ labels }) => labels.place === 'test.list')?.value).toBe(2);
});

test('an error of a promise that is awaited later is thrown there', async () => {
  const later = markHandled(Promise.reject(new Error('away')));
  await new Promise((resolve) => setTimeout(resolve, 1));
  await expect(later).rejects.toThrow('away');
});

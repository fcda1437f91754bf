import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from '../../../infra/coordination/circuit-breaker.ts';

/** A service that counts what it is asked, and answers while it is there. */
function service() {
  const state = { isThere: true, asked: 0 };
  const ask = async () => {
    state.asked++;
    if (!state.isThere) throw new Error('connection refused');
    return 'answer';
  };
  return { state, ask };
}
const rest = () => new Promise((done) => setTimeout(done, 550));

describe('a service that is away', () => {
  it('is asked once more after a rest, by one caller; all others fail at once', async () => {
    const { state, ask } = service();
    const breaker = new CircuitBreaker('Redis');
    expect(await breaker.run(ask)).toBe('answer');
    state.isThere = false;
    await expect(breaker.run(ask)).rejects.toMatchObject({
      code: 'service_unreachable',
      message: 'Redis does not answer',
      detail: 'connection refused',
    });
    for (let i = 0; i < 5; i++) await expect(breaker.run(ask)).rejects.toThrow('Redis does not answer');
    expect(state.asked).toBe(2);
    await rest();
    await Promise.allSettled(Array.from({ length: 5 }, () => breaker.run(ask)));
    expect(state.asked).toBe(3);
  });

  it('is used again by everybody as soon as it answers one', async () => {
    const { state, ask } = service();
    const breaker = new CircuitBreaker('Redis');
    state.isThere = false;
    await expect(breaker.run(ask)).rejects.toThrow();
    state.isThere = true;
    await rest();
    expect(await breaker.run(ask)).toBe('answer');
    expect(await Promise.all([breaker.run(ask), breaker.run(ask)])).toEqual(['answer', 'answer']);
  });

  it('is not one that answers with an error', async () => {
    const breaker = new CircuitBreaker('Redis', (error) => (error as Error).name !== 'ReplyError');
    const refuse = () => Promise.reject(Object.assign(new Error('WRONGTYPE'), { name: 'ReplyError' }));
    await expect(breaker.run(refuse)).rejects.toThrow('WRONGTYPE');
    expect(await breaker.run(async () => 'answer')).toBe('answer');
  });
});

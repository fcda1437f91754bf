import { CircuitBreaker } from '../coordination/circuit-breaker.ts';
import type { KeyValue } from '../ports.ts';
import type { RedisClient } from './redis.ts';

// Redis runs each script atomically.

/** Sets the expiry only at the first addition. */
const INCREMENT = `
local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return sum`;

/** The numbers exceed the precision of Lua, so they are compared and returned as text. */
const RESERVE = `
local last = redis.call('GET', KEYS[1])
if not last then return false end
local floor = ARGV[1]
if #last < #floor or (#last == #floor and last < floor) then redis.call('SET', KEYS[1], floor) end
local first = redis.call('GET', KEYS[1])
redis.call('INCRBY', KEYS[1], ARGV[2])
return first`;

/** A group is a sorted set of members by expiry. The time is that of Redis, which all processes share. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)`;
const STAY = `
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2])))
return 1`;
const JOIN = `${NOW}
local max = tonumber(ARGV[3])
if max > 0 and not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= max then
  return 0
end
${STAY}`;
const PROLONG = `${NOW}
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
${STAY}`;
const LEAVE = `${NOW}
return redis.call('ZREM', KEYS[1], ARGV[1])`;
const MEMBERS = `${NOW}
return redis.call('ZRANGE', KEYS[1], 0, -1)`;

const SCRIPTS = {
  cmIncrement: INCREMENT,
  cmReserve: RESERVE,
  cmJoin: JOIN,
  cmProlong: PROLONG,
  cmLeave: LEAVE,
  cmMembers: MEMBERS,
};
type Script = (key: string, ...args: (string | number)[]) => Promise<unknown>;
type Scripted = RedisClient & Record<keyof typeof SCRIPTS, Script>;

/** Whether Redis did not answer. An error reply is an answer. */
const isAway = (error: unknown) => (error as Error).name !== 'ReplyError';

/** Key-value store on Redis. The client adds the prefix to every key. Throws `service_unreachable` without an answer. */
export class DistributedKeyValue implements KeyValue {
  readonly #redis: Scripted;
  readonly #breaker = new CircuitBreaker('Redis', isAway);

  constructor(redis: RedisClient) {
    for (const [name, lua] of Object.entries(SCRIPTS)) redis.defineCommand(name, { numberOfKeys: 1, lua });
    this.#redis = redis as Scripted;
  }

  get(key: string): Promise<string | null> {
    return this.#run((redis) => redis.get(key));
  }

  async set(key: string, value: string, { ttlMs = Infinity, onlyIfAbsent = false } = {}): Promise<boolean> {
    const args: string[] = [];
    if (ttlMs !== Infinity) args.push('PX', String(Math.max(1, Math.ceil(ttlMs))));
    if (onlyIfAbsent) args.push('NX');
    return (await this.#run((redis) => redis.call('SET', key, value, ...args))) !== null;
  }

  take(key: string): Promise<string | null> {
    return this.#run((redis) => redis.getdel(key));
  }

  async delete(key: string): Promise<void> {
    await this.#run((redis) => redis.del(key));
  }

  async increment(key: string, by: number, ttlMs: number): Promise<number> {
    return Number(await this.#run((redis) => redis.cmIncrement(key, by, Math.max(1, Math.ceil(ttlMs)))));
  }

  async reserve(key: string, size: number, atLeast: bigint): Promise<bigint | null> {
    const first = await this.#run((redis) => redis.cmReserve(key, String(atLeast), size));
    return first === null ? null : BigInt(first as string);
  }

  async join(group: string, member: string, ttlMs: number, membersMax = 0): Promise<boolean> {
    return (await this.#run((redis) => redis.cmJoin(group, member, Math.ceil(ttlMs), membersMax))) === 1;
  }

  async prolong(group: string, member: string, ttlMs: number): Promise<boolean> {
    return (await this.#run((redis) => redis.cmProlong(group, member, Math.ceil(ttlMs)))) === 1;
  }

  async leave(group: string, member: string): Promise<boolean> {
    return (await this.#run((redis) => redis.cmLeave(group, member))) === 1;
  }

  async members(group: string): Promise<string[]> {
    return (await this.#run((redis) => redis.cmMembers(group))) as string[];
  }

  async close(): Promise<void> {
    await this.#redis.quit().catch(() => this.#redis.disconnect());
  }

  #run<T>(command: (redis: Scripted) => Promise<T>): Promise<T> {
    return this.#breaker.run(() => command(this.#redis));
  }
}

import { bounds, type Config, readConfig } from '../../serve/settings/settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PRELOAD = new URL('./preload-bounds.ts', import.meta.url).href;

export const boundsIn = (env: Environment): Partial<typeof bounds> =>
  Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => Object.hasOwn(bounds, name))
      .map(([name, value]) => [name, Number(value)]),
  );

/** The settings of an environment, and the bounds that a test names beside them. */
export const testConfig = (env: Environment): Config => ({ ...readConfig(env), ...boundsIn(env) });

/** The same for a process of the product, which reads no bounds itself. */
export function testEnvironment<Variables extends Environment>(env: Variables): Variables {
  const given = boundsIn(env);
  if (Object.keys(given).length === 0) return env;
  const { NODE_OPTIONS = '' } = env;
  return { ...env, TEST_BOUNDS: JSON.stringify(given), NODE_OPTIONS: `${NODE_OPTIONS} --import ${PRELOAD}` };
}

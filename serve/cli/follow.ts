import { reasonOf } from '../../infra/errors.ts';
import { SourceFollower, type SourceFollowerOptions } from '../../ingest/role.ts';
import type { Config } from '../settings.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import { stopOnSignal } from './stop.ts';

/** Takes in new blocks as they come, until it is stopped. */
export async function followCommand(options: SourceFollowerOptions, config: Config): Promise<number> {
  const following = await SourceFollower.open(options, config, stopOnSignal());
  const operator = await openOperator(config);
  try {
    await following.run(operator, say);
    say('stopped');
    return EXIT.ok;
  } catch (error) {
    say(`stopped following: ${reasonOf(error)}`);
    throw error;
  } finally {
    await operator.close();
  }
}

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`);
}

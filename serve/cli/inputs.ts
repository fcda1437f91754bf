import { ProductError } from '../../infra/errors.ts';
import { type Input, inputsAt } from '../../ingest/sources/input-files.ts';
import { STANDARD_INPUT, standardInput } from './standard-input.ts';

const STANDARD: Input = { name: 'standard input', size: null, open: standardInput };

/** Everything that the paths mean, in order. All of them are looked at before anything is read. */
export async function findInputs(paths: readonly string[]): Promise<Input[]> {
  if (paths.filter((path) => path === STANDARD_INPUT).length > 1) {
    throw new ProductError('usage', 'standard input (-) can be read only once');
  }
  const inputs: Input[] = [];
  for (const path of paths) inputs.push(...(path === STANDARD_INPUT ? [STANDARD] : await inputsAt(path)));
  return inputs;
}

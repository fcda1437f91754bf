import { ProductError } from '../../../infra/errors.ts';
import { isAddress } from '../../../ingest/sources/file-kinds.ts';
import { type Input, inputsAt } from '../../../ingest/sources/input-files.ts';
import { STANDARD_INPUT, standardInput } from './standard-input.ts';

const STANDARD: Input = { name: 'standard input', size: null, open: standardInput };

/** Everything that the paths mean, in order. All of them are looked at before anything is read. */
export async function findInputs(paths: readonly string[]): Promise<Input[]> {
  if (paths.filter((path) => path === STANDARD_INPUT).length > 1) {
    throw new ProductError('usage', 'standard input (-) can be read only once');
  }
  const address = paths.find(isAddress);
  if (address !== undefined) {
    throw new ProductError(
      'usage',
      `${address} is an address, and files are read here: pipe it, as in \`curl -sSf ADDRESS | chain-metrics ingest --chain NAME -\`, or name it as an archive of \`backfill --sources\``,
    );
  }
  const inputs: Input[] = [];
  for (const path of paths) inputs.push(...(path === STANDARD_INPUT ? [STANDARD] : await inputsAt(path)));
  return inputs;
}

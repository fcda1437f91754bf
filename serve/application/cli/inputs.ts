import { ProductError } from '../../../infra/errors.ts';
import { isAddress } from '../../../ingest/sources/address-schemas.ts';
import { type Input, inputsAt } from '../../../ingest/sources/input-files.ts';
import { STANDARD_INPUT, standardInput } from './standard-input.ts';

const STANDARD: Input = { name: 'standard input', size: null, open: standardInput };

/** The inputs of all paths, in order. Fails for a wrong path before anything is read. */
export async function findInputs(paths: readonly string[]): Promise<Input[]> {
  if (paths.filter((path) => path === STANDARD_INPUT).length > 1) {
    throw new ProductError('usage', 'standard input (-) can be read only once');
  }
  const address = paths.find(isAddress);
  if (address !== undefined) {
    throw new ProductError(
      'usage',
      `${address} is a URL, but ingest reads files: pipe it, as in \`curl -sSf URL | chain-metrics ingest --chain NAME -\`, or list it as an archive in a sources file of \`backfill --sources\``,
    );
  }
  const inputs: Input[] = [];
  for (const path of paths) inputs.push(...(path === STANDARD_INPUT ? [STANDARD] : await inputsAt(path)));
  return inputs;
}

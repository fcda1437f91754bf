import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { agreedDocument } from './agreed-document.ts';
import { pythonOf } from './python/generate.ts';
import { typescriptOf } from './typescript/generate.ts';

// Writes the files of the clients that are made of the OpenAPI document; with `--check` it fails where one is not as
// it would be written.
const isCheck = process.argv.includes('--check');
const document = agreedDocument();
const made: Record<string, string> = {
  'typescript/src/schema.ts': await typescriptOf(document),
  'python/src/chain_metrics/metrics.py': pythonOf(document),
};
const old = Object.entries(made).filter(([file, text]) => {
  const url = new URL(file, import.meta.url);
  if (isCheck) return readFileSync(url, 'utf8') !== text;
  writeFileSync(url, text);
  process.stdout.write(`${fileURLToPath(url)}\n`);
  return false;
});
if (old.length > 0) {
  const files = old.map(([file]) => `serve/clients/${file}`).join(', ');
  process.stderr.write(
    `Behind the OpenAPI document: ${files}. Write them with \`npm run generate:clients\`.\n`,
  );
  process.exit(1);
}

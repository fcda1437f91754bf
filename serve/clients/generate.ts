import { writeFileSync } from 'node:fs';
import { readOpenApiDocument } from './openapi-document.ts';
import { pythonOf } from './python-module.ts';
import { typescriptOf } from './typescript-schema.ts';

// Generates modules of the clients from the OpenAPI document. Git ignores them.
const document = readOpenApiDocument();
const write = (file: string, text: string) => writeFileSync(new URL(file, import.meta.url), text);
write('typescript/src/schema.ts', await typescriptOf(document));
write('python/src/chain_metrics/metrics.py', pythonOf(document));

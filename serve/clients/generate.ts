import { writeFileSync } from 'node:fs';
import { agreedDocument } from './agreed-document.ts';
import { pythonOf } from './python-module.ts';
import { typescriptOf } from './typescript-schema.ts';

// Writes the modules of the clients that derive from the OpenAPI document. Git ignores them.
const document = agreedDocument();
const write = (file: string, text: string) => writeFileSync(new URL(file, import.meta.url), text);
write('typescript/src/schema.ts', await typescriptOf(document));
write('python/src/chain_metrics/metrics.py', pythonOf(document));

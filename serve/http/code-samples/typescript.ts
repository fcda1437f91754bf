import { type CallParts, KEYS } from './call-parts.ts';
import { literalOf, type Notation } from './literal.ts';

/** Shorter than the default, because about fifty characters precede the literal on its line. */
const LINE_CHARS = 60;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const text = (value: string) =>
  `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
const NOTATION: Notation = {
  text,
  key: (name) => (IDENTIFIER.test(name) ? name : text(name)),
  words: { null: 'null', true: 'true', false: 'false' },
  step: 2,
  isSpaced: true,
};
const written = (value: unknown, indent = 0, room?: number) => literalOf(value, NOTATION, indent, room);

/** A call of the TypeScript client. */
export function typescriptSample(parts: CallParts): string {
  const { origin, path, query, answer, needs } = parts;
  const options = { baseUrl: origin, ...(needs === null ? {} : { apiKey: KEYS[needs] }) };
  const client = `const client = createClient(${written(options)});`;
  if (answer === 'rows') {
    return `import { createClient, rows } from 'chain-metrics-client';

${client}
for await (const row of rows(client, ${text(path)}, ${written(query, 0, LINE_CHARS)})) {
  console.log(row);
}`;
  }
  const results = answer === null ? 'error, response' : 'data, error, response';
  return `import { ApiError, createClient } from 'chain-metrics-client';

${client}
const { ${results} } = await client.${callOf(parts)};
if (error) throw new ApiError(response, error);${answer === null ? '' : '\nconsole.log(data);'}`;
}

function callOf({ method, path, pathValues, query, body, isForm, answer }: CallParts): string {
  const params = {
    ...(Object.keys(pathValues).length > 0 && { path: pathValues }),
    ...(Object.keys(query).length > 0 && { query }),
  };
  const options = [
    ...(Object.keys(params).length > 0 ? [`params: ${written(params, 2)}`] : []),
    ...(body === undefined ? [] : [`body: ${written(body, 2)}`]),
    ...(isForm ? ['bodySerializer: (body) => new URLSearchParams({ ...body })'] : []),
    ...(answer === 'text' ? ["parseAs: 'text'"] : []),
  ];
  if (options.length === 0) return `${method}(${text(path)})`;
  const line = `${method}(${text(path)}, { ${options.join(', ')} })`;
  if (line.length <= LINE_CHARS && !line.includes('\n')) return line;
  return `${method}(${text(path)}, {\n${options.map((option) => `  ${option},\n`).join('')}})`;
}

import { type CallParts, expandPath } from './call-parts.ts';

export function curlSample(parts: CallParts): string {
  const { origin, method, query, body, isForm, needs } = parts;
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  );
  const url = `${origin}${expandPath(parts)}${search.size > 0 ? `?${search}` : ''}`;
  const option = method === 'GET' || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `;
  return [
    `curl ${option}${quoted(url)}`,
    ...(needs === null ? [] : [`-H "Authorization: Bearer $${KEYS[needs]}"`]),
    ...(body === undefined ? [] : isForm ? formOf(body as object) : jsonOf(body)),
  ].join(' \\\n  ');
}

const KEYS = { token: 'ACCESS_TOKEN', integration: 'INTEGRATION_KEY' } as const;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const jsonOf = (body: unknown) => [
  "-H 'Content-Type: application/json'",
  `-d ${quoted(JSON.stringify(body))}`,
];
const formOf = (body: object) =>
  Object.entries(body).map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`);

import { type CallParts, expandPath, KEYS } from './call-parts.ts';
import { literalOf, type Notation } from './literal.ts';

const NOTATION: Notation = {
  text: (text) => JSON.stringify(text),
  key: (name) => JSON.stringify(name),
  words: { null: 'None', true: 'True', false: 'False' },
  step: 4,
  isSpaced: false,
};
const written = (value: unknown, indent = 0) => literalOf(value, NOTATION, indent);

/** A call of the Python client; the client only reads JSON and rows, so other operations use `requests`. */
export function pythonSample(parts: CallParts): string {
  const { origin, method, path, query, needs, answer } = parts;
  if (method !== 'GET' || answer === 'text') return requestsSample(parts);
  const key = needs === null ? '' : `, api_key=${written(KEYS[needs])}`;
  const metric = answer === 'rows' ? path.replace('/api/', '') : expandPath(parts);
  const call = [
    written(metric),
    ...Object.entries(query).map(([name, value]) => `${name}=${written(value)}`),
  ];
  return `from chain_metrics import ChainMetrics

client = ChainMetrics(${written(origin)}${key})
${answer === 'rows' ? `for row in client.rows(${call.join(', ')}):\n    print(row)` : `print(client.get(${call.join(', ')}))`}`;
}

function requestsSample(parts: CallParts): string {
  const { origin, method, query, body, isForm, needs, answer } = parts;
  const headers = needs === null ? {} : { Authorization: `Bearer ${KEYS[needs]}` };
  const options = [
    ...(Object.keys(query).length > 0 ? [`params=${written(query, 4)},`] : []),
    ...(needs === null ? [] : [`headers=${written(headers, 4)},`]),
    ...(body === undefined ? [] : [`${isForm ? 'data' : 'json'}=${written(body, 4)},`]),
    'timeout=60,',
  ];
  const read = {
    json: 'print(response.json())',
    rows: 'print(response.json())',
    text: 'print(response.text)',
  };
  return `import requests

response = requests.${method.toLowerCase()}(
    ${written(`${origin}${expandPath(parts)}`)},
${options.map((option) => `    ${option}\n`).join('')})
response.raise_for_status()${answer === null ? '' : `\n${read[answer]}`}`;
}

import { readFileSync } from 'node:fs';

/** A recorded request or answer, for the OpenAPI document. */
export interface Example {
  readonly name: string;
  readonly request?: unknown;
  readonly answer?: unknown;
}

/** Reads the recorded examples of an API, one JSON object a line, by their names. */
export function readExamples(file: URL): ReadonlyMap<string, Example> {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return new Map(lines.map((line) => JSON.parse(line) as Example).map((example) => [example.name, example]));
}

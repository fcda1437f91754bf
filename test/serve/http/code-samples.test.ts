import { describe, expect, it } from 'vitest';
import { readOpenApiDocument } from '../../../serve/clients/openapi-document.ts';
import type { SampledOperation } from '../../../serve/http/code-samples/call-parts.ts';
import { codeSamplesOf } from '../../../serve/http/code-samples/code-samples.ts';

const { paths } = readOpenApiDocument() as unknown as {
  paths: Record<string, Record<string, SampledOperation>>;
};
const samplesOf = (method: string, path: string) =>
  codeSamplesOf('https://metrics.example.org', method, path, paths[path]?.[method] as SampledOperation).map(
    ({ source }) => source,
  );

describe('the code samples of an operation', () => {
  it('iterate over the rows of a metric, with what the path requires', () => {
    expect(samplesOf('get', '/api/contracts-search')).toEqual([
      "curl 'https://metrics.example.org/api/contracts-search?addresses=0x5a1b2c3d4e5f60718293a4b5c6d7e8f901234567'",
      `import { createClient, rows } from 'chain-metrics-client';

const client = createClient({ baseUrl: 'https://metrics.example.org' });
for await (const row of rows(client, '/api/contracts-search', {
  addresses: ['0x5a1b2c3d4e5f60718293a4b5c6d7e8f901234567'],
})) {
  console.log(row);
}`,
      `from chain_metrics import ChainMetrics

client = ChainMetrics("https://metrics.example.org")
for row in client.rows("contracts-search", addresses=["0x5a1b2c3d4e5f60718293a4b5c6d7e8f901234567"]):
    print(row)`,
    ]);
  });

  it('send the body of the example, as who the operation needs', () => {
    expect(samplesOf('post', '/api/v4/projects/{id}/members')).toEqual([
      `curl 'https://metrics.example.org/api/v4/projects/1/members' \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"username":"bob","access_level":30}'`,
      `import { ApiError, createClient } from 'chain-metrics-client';

const client = createClient({ baseUrl: 'https://metrics.example.org', apiKey: 'the access token' });
const { data, error, response } = await client.POST('/api/v4/projects/{id}/members', {
  params: { path: { id: '1' } },
  body: { username: 'bob', access_level: 30 },
});
if (error) throw new ApiError(response, error);
console.log(data);`,
      `import requests

response = requests.post(
    "https://metrics.example.org/api/v4/projects/1/members",
    headers={"Authorization": "Bearer the access token"},
    json={"username": "bob", "access_level": 30},
    timeout=60,
)
response.raise_for_status()
print(response.json())`,
    ]);
    const [curl, typescript] = samplesOf('post', '/oauth/revoke');
    expect(curl).toContain("--data-urlencode 'client_secret=the secret of the application'");
    expect(typescript).toContain('bodySerializer: (body) => new URLSearchParams({ ...body }),');
  });

  it('have a value for everything that an operation requires', () => {
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) {
        const [curl, typescript, python] = samplesOf(method, path);
        expect(`${curl}${python}`, `${method} ${path}`).not.toMatch(/undefined|\/\{\w+\}/);
        expect(typescript, `${method} ${path}`).not.toContain('undefined');
      }
    }
  });
});

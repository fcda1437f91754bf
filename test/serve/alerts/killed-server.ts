/**
 * A server for tests that kill it. The first start creates a project with two integrations and writes their addresses
 * to a file; every start prints the port.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { createKey } from '../../../serve/accounts/keys.ts';
import { createUser } from '../../../serve/accounts/users.ts';
import { openPipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { testConfig } from '../../support/test-config.ts';
import { STATE_RULES } from './made.ts';

const [factsFile = '', port = '0'] = process.argv.slice(2);
const pipeline = await openPipeline(testConfig(process.env));
const app = await buildServer(pipeline);
await app.listen({ host: '127.0.0.1', port: Number(port) });

if (!existsSync(factsFile)) {
  const accounts = pipeline.accounts();
  const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
  const key = await createKey(accounts, user, 'personal', { name: 'test', scopes: ['api'], expires_ms: 0 });
  const call = async (path: string, payload: object) => {
    const reply = await app.inject({
      method: 'POST',
      url: `/api/v4${path}`,
      headers: { authorization: `Bearer ${key.text}` },
      payload,
    });
    return reply.json();
  };
  const { id: project } = await call('/projects', { name: 'Killed' });
  const targets = [];
  for (const type of ['HTTP', 'PROMETHEUS']) {
    const made = await call(`/projects/${project}/integrations`, { type, name: type, rules: STATE_RULES });
    targets.push({ project, path: new URL(made.url).pathname, key: made.authorization_key });
  }
  writeFileSync(factsFile, JSON.stringify({ token: key.text, targets }));
}
const address = app.server.address();
process.stdout.write(`port ${typeof address === 'object' && address ? address.port : 0}\n`);

process.on('SIGTERM', async () => {
  await app.close();
  await pipeline.close();
  process.exit(0);
});

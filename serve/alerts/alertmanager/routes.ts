import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { alertmanagerDialect } from '../../http/dialects.ts';
import { HttpError, handleErrors } from '../../http/errors.ts';
import type { Readers } from '../../http/readers.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { serveAlertmanagerAlerts } from './alerts.ts';
import { AlertmanagerScope } from './scope.ts';
import { serveAlertmanagerSilences } from './silences.ts';

/** Version of Alertmanager that is reported to clients. */
const VERSION = '0.28.1';

interface AlertmanagerServing {
  readonly accounts: Accounts;
  readonly readers: Readers;
  readonly clock: Clock;
  readonly domain: AlertDomain;
  readonly url: () => string;
}

/** Serves version 2 of Alertmanager's API for each project, so that amtool and Grafana list and silence its alerts. */
export async function serveAlertmanager(app: FastifyInstance, serving: AlertmanagerServing): Promise<void> {
  const { accounts, readers, clock, domain, url } = serving;
  await app.register(async (instance) => {
    handleErrors(instance, alertmanagerDialect);
    const scope = new AlertmanagerScope(instance, { accounts, readers, projects: domain.projects });
    const startedAt = new Date(clock.now()).toISOString();
    scope.add({ method: 'GET', path: '/status', role: 'Reporter' }, async () => statusJson(startedAt));
    serveAlertmanagerSilences(scope, domain, clock);
    serveAlertmanagerAlerts(scope, domain, { clock, url });
    // Grafana probes other paths to detect the server and expects JSON.
    instance.all('/alertmanager/*', { schema: { hide: true } }, async () => {
      throw new HttpError(
        'not_found',
        'Nothing is served here. The address is /alertmanager/PROJECT/api/v2.',
      );
    });
  });
}

const statusJson = (uptime: string) => ({
  cluster: { name: '', status: 'disabled', peers: [] },
  config: { original: '' },
  uptime,
  versionInfo: {
    version: VERSION,
    branch: '',
    revision: '',
    buildUser: '',
    buildDate: '',
    goVersion: '',
  },
});

import { isIP } from 'node:net';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type { ConnectionOptions } from '@platformatic/kafka';
import type { InfraSettings } from '../../config/settings.ts';
import { kafkaAccess, tlsFiles, tokensOf } from '../kafka-access.ts';

/** How to connect and sign in. Throws `setting_invalid` where settings contradict each other or a file is missing. */
export function platformaticAccess(
  settings: InfraSettings,
): Pick<ConnectionOptions, 'tls' | 'tlsServerName' | 'sasl'> {
  kafkaAccess(settings);
  const hosts = settings.KAFKA_BROKERS.split(',').map((broker) => broker.slice(0, broker.lastIndexOf(':')));
  return {
    ...(settings.KAFKA_TLS && {
      tls: filesOf(settings),
      tlsServerName: hosts.some((host) => isIP(host) === 0),
    }),
    ...(settings.KAFKA_SASL !== 'none' && { sasl: credentials(settings) }),
  };
}

/** The client copies these for each connection, so that renewed certificates are used without a restart. */
function filesOf(settings: InfraSettings): TlsOptions {
  const names = Object.keys(tlsFiles(settings)) as (keyof TlsOptions)[];
  const properties = names.map((name) => [name, { enumerable: true, get: () => tlsFiles(settings)[name] }]);
  return Object.defineProperties({}, Object.fromEntries(properties));
}

function credentials(settings: InfraSettings): NonNullable<ConnectionOptions['sasl']> {
  const { KAFKA_SASL, KAFKA_USER: username, KAFKA_PASSWORD: password, KAFKA_OAUTH_URL: url } = settings;
  const mechanism = KAFKA_SASL.toUpperCase() as 'PLAIN';
  if (KAFKA_SASL !== 'oauthbearer') return { mechanism, username, password };
  const tokens = tokensOf(url ?? '', settings);
  return { mechanism: 'OAUTHBEARER', token: async () => (await tokens()).value };
}

import type { Seal } from '../../../../serve/accounts/secrets.ts';
import { type Destinations, openDestinations } from '../../../../serve/alerts/composition/destinations.ts';
import type { Service } from '../service.ts';

/** The parts that the pager uses, on the store of a service. */
export const destinationsOf = (
  { accounts, pipeline: { config, runtime } }: Service,
  seal: Seal = accounts.seal,
): Destinations =>
  openDestinations({
    accounts: { ...accounts, seal },
    runtime,
    settings: config,
    publicUrl: () => 'https://metrics.example.com',
    policiesUsing: async () => [],
  });

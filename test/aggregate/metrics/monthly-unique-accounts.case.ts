import { monthlyUniqueAccounts } from '../../../aggregate/metrics/activity/monthly-unique-accounts.ts';
import { monthlyUniqueAccounts as reference } from '../../reference/metrics/monthly-unique-accounts.ts';
import type { MetricCase } from '../../support/served.ts';

export const monthlyUniqueAccountsCase: MetricCase = { metric: monthlyUniqueAccounts, reference };

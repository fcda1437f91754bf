import { Counter } from 'prom-client';

/** The label of each kind of attempt. */
export const FACTORS = { password: 'password', 'second factor': 'second_factor', wallet: 'wallet' } as const;
export type AttemptedFactor = keyof typeof FACTORS;

/** Prometheus metrics of accounts and tokens. */
export const createIdentityMetrics = () => {
  const metrics = {
    signIns: new Counter({
      name: 'chain_metrics_sign_ins_total',
      help: 'Sessions that began after the person passed all factors of the account.',
      registers: [],
    }),
    attempts: new Counter({
      name: 'chain_metrics_sign_in_attempts_total',
      help: 'Attempts at a password, second factor or wallet, by result: accepted, wrong, or refused because there were too many.',
      labelNames: ['factor', 'result'],
      registers: [],
    }),
    tokensIssued: new Counter({
      name: 'chain_metrics_oauth_tokens_issued_total',
      help: 'Responses of the token endpoint that issued tokens, by grant.',
      labelNames: ['grant'],
      registers: [],
    }),
    tokensRefused: new Counter({
      name: 'chain_metrics_oauth_tokens_refused_total',
      help: 'Requests to the token endpoint that failed for any reason, by grant.',
      labelNames: ['grant'],
      registers: [],
    }),
  };
  for (const factor of Object.values(FACTORS))
    for (const result of ['accepted', 'wrong', 'refused']) metrics.attempts.inc({ factor, result }, 0);
  return metrics;
};

export type IdentityMetrics = ReturnType<typeof createIdentityMetrics>;

import { RequestRefused } from '../model/access.ts';
import type { IntegrationSummary, Project } from '../model/tables.ts';
import type { IntegrationType } from './integration-type.ts';

const INTEGRATIONS_PER_PROJECT = 100;

export function requireRoom(
  project: Project,
  type: IntegrationType,
  others: readonly IntegrationSummary[],
  name: string,
): void {
  if (others.length >= INTEGRATIONS_PER_PROJECT) {
    throw new RequestRefused(
      'conflict',
      `A project can have up to ${INTEGRATIONS_PER_PROJECT} integrations. Delete one first.`,
    );
  }
  requirePlan(project, type, others);
  if (name === '' && isAdditional(type, others))
    throw new RequestRefused('bad_request', `An additional ${type.label} needs a name.`, 'name');
}

/** A project that left the premium plan keeps its active integrations, so no alert is lost, but cannot activate others. */
export function requirePlan(
  { plan }: Project,
  type: IntegrationType,
  others: readonly IntegrationSummary[],
): void {
  if (plan === 'premium' || !isAdditional(type, others)) return;
  throw new RequestRefused(
    'forbidden',
    `The free plan includes one ${type.label}. The premium plan has no such limit.`,
  );
}

const isAdditional = (type: IntegrationType, others: readonly IntegrationSummary[]): boolean =>
  type.isLimitedByPlan && others.some((other) => other.type === type.name);

import { newSecret } from '../../accounts/secrets.ts';
import { httpIntegration } from './http.ts';
import type { IntegrationType } from './integration-type.ts';
import { cloudwatch } from './presets/cloudwatch.ts';

/** Alerts of Amazon CloudWatch, and of all that publishes to topics of Amazon SNS. */
export const snsIntegration: IntegrationType = {
  name: 'sns',
  apiName: 'SNS',
  label: 'Amazon SNS',
  endpoint: httpIntegration.endpoint,
  settings: [
    {
      name: 'topics',
      label: 'Topics',
      hint: 'ARNs of the topics whose messages are taken, one a line. Empty: the first topic that sends a message.',
      isRequired: false,
    },
  ],
  hasMapping: true,
  newKey: newSecret,
  isLimitedByPlan: false,
  preset: cloudwatch.name,
};

/** Amazon SNS takes the key as the password in a URL. */
export const urlWithKey = (url: string, key: string): string => url.replace('://', `://aws:${key}@`);

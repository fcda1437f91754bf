import { newSecret } from '../../accounts/secrets.ts';
import { httpIntegration } from './http.ts';
import type { IntegrationType } from './integration-type.ts';
import { cloudwatch } from './presets/cloudwatch.ts';

/** Alerts of Amazon CloudWatch and other publishers to topics of Amazon SNS. */
export const snsIntegration: IntegrationType = {
  name: 'sns',
  apiName: 'SNS',
  label: 'Amazon SNS',
  endpoint: httpIntegration.endpoint,
  settings: [
    {
      name: 'topics',
      label: 'Topics',
      hint: 'ARNs of the accepted topics, one per line. Empty: the first topic that sends a message is accepted.',
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

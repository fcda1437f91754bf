import type { Preset } from './preset.ts';

/** The message of an alarm, which arrives through an SNS topic. */
export const cloudwatch: Preset = {
  name: 'cloudwatch',
  label: 'CloudWatch',
  type: 'sns',
  rules: {
    tool: 'CloudWatch',
    fields: {
      title: [['AlarmName']],
      description: [['AlarmDescription'], ['NewStateReason']],
      start_time: [['StateChangeTime']],
      end_time: [['StateChangeTime']],
      service: [['Trigger', 'Namespace']],
    },
    status: { path: ['NewStateValue'], resolved: ['OK'], acknowledged: [], ignored: ['INSUFFICIENT_DATA'] },
    fingerprint: [[['AlarmArn']]],
    labels: { account: ['AWSAccountId'], region: ['Region'], metric: ['Trigger', 'MetricName'] },
  },
  sample: {
    AlarmName: 'Errors of the checkout',
    AlarmDescription: null,
    AWSAccountId: '123456789012',
    AlarmConfigurationUpdatedTimestamp: '2026-09-25T18:48:56.505+0000',
    NewStateValue: 'ALARM',
    NewStateReason:
      'Threshold Crossed: 1 out of the last 1 datapoints [6.0 (24/11/26 23:49:00)] was greater than the threshold (5.0).',
    StateChangeTime: '2026-11-24T23:50:37.811+0000',
    Region: 'EU (Frankfurt)',
    AlarmArn: 'arn:aws:cloudwatch:eu-central-1:123456789012:alarm:Errors of the checkout',
    OldStateValue: 'INSUFFICIENT_DATA',
    OKActions: [],
    AlarmActions: ['arn:aws:sns:eu-central-1:123456789012:pages'],
    InsufficientDataActions: [],
    Trigger: {
      MetricName: 'Errors',
      Namespace: 'AWS/Lambda',
      StatisticType: 'Statistic',
      Statistic: 'SUM',
      Unit: null,
      Dimensions: [{ value: 'checkout', name: 'FunctionName' }],
      Period: 60,
      EvaluationPeriods: 1,
      ComparisonOperator: 'GreaterThanThreshold',
      Threshold: 5,
      TreatMissingData: 'missing',
    },
  },
  setup: ({ generic, key }) => ({
    title: 'Subscription of the SNS topic',
    hint: 'The subscription is confirmed automatically. Let the alarm send both ALARM and OK to the topic, so that its end resolves the alert.',
    text: `aws sns subscribe --protocol https --topic-arn TOPIC_ARN \\
  --notification-endpoint '${generic.replace('://', `://aws:${key}@`)}'
`,
  }),
};

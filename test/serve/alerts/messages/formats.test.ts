import { describe, expect, test } from 'vitest';
import { mailOf } from '../../../../serve/alerts/messages/email.ts';
import { pagerdutyBody } from '../../../../serve/alerts/messages/pagerduty.ts';
import { slackBody } from '../../../../serve/alerts/messages/slack.ts';
import { teamsBody } from '../../../../serve/alerts/messages/teams.ts';
import { telegramBody } from '../../../../serve/alerts/messages/telegram.ts';
import { webhookBody } from '../../../../serve/alerts/messages/webhook.ts';
import { madeAlert, madeMessage, PUBLIC_URL } from './made-message.ts';

const ALERT_URL = `${PUBLIC_URL}/projects/7/alerts/42`;
const LINK = `${PUBLIC_URL}/acknowledge/x.y`;
const BODY = 'Only 2 % are free.\nThe database stops at 0 %.';
const bundle = madeMessage({
  alerts: [madeAlert(), madeAlert({ iid: 43, severity: 'low', title: 'Slow' })],
  more: 5,
});

describe('Slack', () => {
  test('gets a message with an attachment', () => {
    expect(slackBody(madeMessage())).toEqual({
      text: '[critical] Disk of node-7 is full',
      attachments: [
        {
          fallback: '[critical] Disk of node-7 is full',
          color: '#d32f2f',
          title: 'Disk of node-7 is full',
          title_link: ALERT_URL,
          text: BODY,
          fields: [
            { title: 'Severity', value: 'critical', short: true },
            { title: 'Project', value: 'Validators', short: true },
            { title: 'Service', value: 'database', short: true },
            { title: 'Environment', value: 'production', short: true },
            { title: 'Started', value: '2026-03-22T08:00:00.000Z', short: true },
            { title: 'Policy', value: 'Night, round 1, step 2', short: true },
            { title: 'Runbook', value: 'https://runbooks.example.com/disk', short: true },
          ],
          footer: 'Validators',
          ts: 1774166400,
          mrkdwn_in: ['text'],
        },
      ],
    });
  });

  test('sees by the colour what is over', () => {
    const page = { ...madeMessage().page, by: 'alice' };
    expect(slackBody(madeMessage({ event: 'resolved', page }))).toMatchObject({
      text: '[resolved] Disk of node-7 is full',
      attachments: [{ color: '#388e3c', text: `Resolved by alice.\n\n${BODY}` }],
    });
    expect(JSON.stringify(slackBody(madeMessage({ event: 'resolved', page })))).toContain('"value":"Night"');
    expect(slackBody(madeMessage({ event: 'acknowledged', page }))).toMatchObject({
      text: '[acknowledged] Disk of node-7 is full',
      attachments: [{ color: '#d32f2f', text: `Acknowledged by alice.\n\n${BODY}` }],
    });
  });

  test('gets the alerts of a bundle in one message', () => {
    expect(slackBody(bundle)).toMatchObject({
      text: '[critical] Disk of node-7 is full and 6 more',
      attachments: [{ text: '[critical] #42 Disk of node-7 is full\n[low] #43 Slow\nand 5 more' }],
    });
  });
});

test('Teams gets an Adaptive Card', () => {
  expect(teamsBody(madeMessage())).toEqual({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.2',
          body: [
            {
              type: 'TextBlock',
              text: '\\[critical\\] Disk of node-7 is full',
              weight: 'Bolder',
              size: 'Medium',
              wrap: true,
              color: 'Attention',
            },
            { type: 'TextBlock', text: BODY.replace('\n', '\n\n'), wrap: true },
            {
              type: 'FactSet',
              facts: [
                { title: 'Severity', value: 'critical' },
                { title: 'Project', value: 'Validators' },
                { title: 'Service', value: 'database' },
                { title: 'Environment', value: 'production' },
                { title: 'Started', value: '2026-03-22T08:00:00.000Z' },
                { title: 'Policy', value: 'Night, round 1, step 2' },
                { title: 'Runbook', value: 'https://runbooks.example.com/disk' },
              ],
            },
          ],
          actions: [{ type: 'Action.OpenUrl', title: 'Open', url: ALERT_URL }],
          msteams: { width: 'Full' },
        },
      },
    ],
  });
});

describe('PagerDuty', () => {
  test('gets an event of its API v2', () => {
    expect(pagerdutyBody(madeMessage(), 'R'.repeat(32))).toEqual({
      routing_key: 'R'.repeat(32),
      event_action: 'trigger',
      dedup_key: 'chain-metrics/7/42',
      payload: {
        summary: 'Disk of node-7 is full',
        source: 'node-7',
        severity: 'critical',
        timestamp: '2026-03-22T08:00:00.000Z',
        component: 'database',
        group: 'production',
        class: 'Prometheus',
        custom_details: { alertname: 'DiskFull', expr: 'a=b' },
      },
      links: [
        { href: ALERT_URL, text: 'Alert' },
        { href: 'https://runbooks.example.com/disk', text: 'Runbook' },
      ],
      client: 'Chain Metrics',
      client_url: ALERT_URL,
    });
  });

  test.each([
    ['triggered', 'trigger'],
    ['acknowledged', 'acknowledge'],
    ['resolved', 'resolve'],
  ] as const)('is told of %s by %s, under one key', (event, event_action) => {
    expect(pagerdutyBody(madeMessage({ event }), '')).toMatchObject({
      event_action,
      dedup_key: 'chain-metrics/7/42',
    });
  });

  test.each([
    ['critical', 'critical'],
    ['high', 'error'],
    ['unknown', 'error'],
    ['medium', 'warning'],
    ['low', 'warning'],
    ['info', 'info'],
  ] as const)('knows the severity %s as %s', (severity, expected) => {
    const message = madeMessage({ alerts: [madeAlert({ severity, hosts: [], tool: '' })] });
    expect(pagerdutyBody(message, '')).toMatchObject({
      payload: { severity: expected, source: 'Chain Metrics' },
    });
  });
});

describe('Telegram', () => {
  const text = [
    '[critical] Disk of node-7 is full',
    BODY,
    'Severity: critical\nProject: Validators\nService: database\nEnvironment: production\nStarted: 2026-03-22T08:00:00.000Z\nPolicy: Night, round 1, step 2\nRunbook: https://runbooks.example.com/disk',
    `Open: ${ALERT_URL}`,
  ].join('\n\n');

  test('gets plain text with a button', () => {
    const message = madeMessage({ user: { name: 'Alice' }, acknowledgeUrl: LINK });
    expect(telegramBody(message, '-1001')).toEqual({
      chat_id: '-1001',
      text,
      link_preview_options: { is_disabled: true },
      reply_markup: { inline_keyboard: [[{ text: 'Acknowledge', url: LINK }]] },
    });
  });

  test.each([
    'http://localhost:3000',
    'http://10.0.0.1',
    'http://[::1]:3000',
    'http://metrics',
    'https://metrics.internal',
  ])('gets the link in the text where %s is not public', (origin) => {
    const acknowledgeUrl = `${origin}/acknowledge/x.y`;
    const body = telegramBody(madeMessage({ acknowledgeUrl }), '1');
    expect(body).not.toHaveProperty('reply_markup');
    expect(body).toMatchObject({
      text: expect.stringContaining(`\n\nAcknowledge: ${acknowledgeUrl}\nOpen: `),
    });
  });
});

test('a webhook gets the page, and alerts as outgoing webhooks name their parts', () => {
  const message = madeMessage({ user: { name: 'Alice' }, acknowledgeUrl: LINK, duplicatePossible: true });
  const object_attributes = {
    iid: 42,
    project_id: 7,
    title: 'Disk of node-7 is full',
    description: BODY,
    severity: 'critical',
    status: 'triggered',
    service: 'database',
    monitoring_tool: 'Prometheus',
    hosts: ['node-7', 'node-8'],
    environment: 'production',
    labels: ['alertname=DiskFull', 'expr=a=b'],
    event_count: 3,
    started_at: '2026-03-22T08:00:00.000Z',
    runbook: 'https://runbooks.example.com/disk',
    web_url: ALERT_URL,
  };
  expect(webhookBody(message)).toEqual({
    object_kind: 'page',
    event: 'triggered',
    page: { round: 1, step: 2, policy: 'Night', reason: '', by: '' },
    project: { id: 7, name: 'Validators' },
    object_attributes,
    alerts: [object_attributes],
    more: 0,
    recipients: [{ name: 'Alice' }],
    acknowledge_url: LINK,
    duplicate_possible: true,
  });
  expect(webhookBody(bundle)).toMatchObject({
    object_attributes: { iid: 42 },
    alerts: [{ iid: 42 }, { iid: 43 }],
    more: 5,
    recipients: [],
  });
});

describe('a mail', () => {
  test('has text, HTML and one key', () => {
    const message = madeMessage({ user: { name: 'Alice' }, acknowledgeUrl: LINK });
    const mail = mailOf(message, 'alice@example.org');
    expect(mail).toMatchObject({
      to: 'alice@example.org',
      subject: '[critical] Disk of node-7 is full (#42 Validators)',
      id: message.key,
      thread: 'page.7.42',
      isImportant: true,
    });
    expect(mail.text).toBe(`[critical] Disk of node-7 is full

${BODY}

Severity: critical
Project: Validators
Service: database
Environment: production
Started: 2026-03-22T08:00:00.000Z
Policy: Night, round 1, step 2
Runbook: https://runbooks.example.com/disk

Acknowledge: ${LINK}
Open: ${ALERT_URL}
`);
    expect(mail.html).toContain(`<a href="${LINK}">Acknowledge</a>`);
    expect(mail.html).not.toMatch(/<img|src=/);
  });

  test('is important only for critical and high', () => {
    const of = (severity: 'high' | 'medium') =>
      mailOf(madeMessage({ alerts: [madeAlert({ severity })] }), 'a@b.c').isImportant;
    expect([of('high'), of('medium')]).toEqual([true, false]);
  });

  test.each([
    ['nobody was reached', 'Nobody was reached'],
    ['', 'Nobody acknowledged'],
  ])('tells of an exhausted page whose reason is "%s"', (reason, told) => {
    const page = { ...madeMessage().page, reason };
    const mail = mailOf(madeMessage({ event: 'exhausted', page }), 'a@b.c');
    expect(mail.subject).toBe(`[critical] ${told}: Disk of node-7 is full (#42 Validators)`);
    expect(mail.text).toContain(`\n\n${told}. All steps of the escalation policy were carried out.\n\n`);
  });

  test('says that it may be a duplicate', () => {
    const { text } = mailOf(madeMessage({ duplicatePossible: true }), 'a@b.c');
    expect(text).toContain('\n\nThis message may have been sent before.\n\n');
  });
});

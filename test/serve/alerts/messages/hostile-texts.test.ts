import { describe, expect, test } from 'vitest';
import { mailOf } from '../../../../serve/alerts/messages/email.ts';
import { pagerdutyBody } from '../../../../serve/alerts/messages/pagerduty.ts';
import { slackBody } from '../../../../serve/alerts/messages/slack.ts';
import { teamsBody } from '../../../../serve/alerts/messages/teams.ts';
import { telegramBody } from '../../../../serve/alerts/messages/telegram.ts';
import { HOSTILE, HUGE, madeAlert, messageOf } from './made-message.ts';

/** All texts within a body. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

const EVENTS = ['triggered', 'acknowledged', 'resolved', 'exhausted'] as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/;

describe.each(EVENTS)('texts of senders in a message that a page was %s', (event) => {
  const message = messageOf(HOSTILE, { event });

  test('mention nobody and link nowhere in Slack and what reads its messages', () => {
    const texts = textsOf(slackBody(message)).filter(
      (text) => !text.startsWith('https://metrics.example.com'),
    );
    for (const text of texts) {
      expect(text).not.toMatch(/[<>]|@\w|\]\(|\]\[|\]:/);
      expect(text).not.toMatch(/&(?!amp;|lt;|gt;)/);
      expect(text).not.toMatch(CONTROL);
    }
    expect(texts.join('\n')).toContain('&lt;!here&gt;');
  });

  test('are no markup in cards of Teams', () => {
    for (const text of textsOf(teamsBody(message)).filter((found) => found.includes('script'))) {
      expect(text).not.toMatch(CONTROL);
      // Without what is escaped, nothing is left that Markdown reads.
      expect(text.replace(/\\[\\`*_{}[\]()<>#~|!+.-]/g, '')).not.toMatch(/[\\`*_{}[\]()<>#~|!]/);
      expect(text).not.toMatch(/^\s*([-+]|\d+\.)\s/m);
    }
  });

  test('mention nobody in Telegram and have no parse mode', () => {
    const body = telegramBody(message, '1') as { text: string };
    expect(body).not.toHaveProperty('parse_mode');
    expect(body.text).not.toMatch(/@\w/);
    expect(body.text).not.toMatch(CONTROL);
    expect(body.text.split('\n')[0]).toContain('- item');
  });

  test('are no HTML and no lines of the subject in mails', () => {
    const { html, text, subject } = mailOf(message, 'a@b.c');
    expect(subject).not.toMatch(/[\r\n]/);
    expect([subject, text, html].join('')).not.toMatch(CONTROL);
    expect(html).not.toMatch(/<script|<img|onerror="|href="https:\/\/evil/);
    expect(html.match(/<a /g)).toHaveLength(1);
  });
});

test('a runbook that is no address is no link of PagerDuty', () => {
  const message = messageOf('x', { alerts: [madeAlert({ runbook: 'javascript:alert(1)' })] });
  expect(pagerdutyBody(message, '')).toMatchObject({ links: [{ text: 'Alert' }] });
});

describe('texts of 100 KB', () => {
  const bytes = (body: object) => Buffer.byteLength(JSON.stringify(body));
  const fillings = {
    hostile: HUGE,
    backslashes: '\\'.repeat(100_000),
    quotes: '"*'.repeat(50_000),
    emoji: '🔥'.repeat(50_000),
  };

  test.each(Object.entries(fillings))('are cut to what each format takes: %s', (_name, text) => {
    const one = messageOf(text, { event: 'acknowledged' });
    const many = { ...one, alerts: Array.from({ length: 20 }, () => one.alerts[0] as never), more: 9980 };
    for (const message of [one, many]) {
      expect(bytes(teamsBody(message))).toBeLessThan(28 * 1024);
      expect(bytes(slackBody(message))).toBeLessThan(64 * 1024);
      const { payload } = pagerdutyBody(message, '') as { payload: { summary: string } };
      expect([...payload.summary].length).toBeLessThanOrEqual(1024);
      const telegram = telegramBody(message, '1') as { text: string };
      expect(telegram.text.length).toBeLessThanOrEqual(4096);
      expect(telegram.text.isWellFormed()).toBe(true);
      expect(mailOf(message, 'a@b.c').subject.length).toBeLessThan(2000);
    }
  });
});

import { describe, expect, test } from 'vitest';
import type { DestinationType } from '../../../../serve/alerts/messages/destination.ts';
import { slackBody } from '../../../../serve/alerts/messages/slack.ts';
import { FULL_SAMPLE } from '../../../../serve/alerts/messages/template-data.ts';
import {
  checkTemplate,
  NO_TEMPLATE,
  renderBody,
  renderTexts,
  TemplateError,
} from '../../../../serve/alerts/messages/templates.ts';
import { webhookBody } from '../../../../serve/alerts/messages/webhook.ts';
import { HOSTILE, HUGE, madeAlert, madeMessage, messageOf } from './made-message.ts';

const title = (text: string) => ({ ...NO_TEMPLATE, title: text });
const text = (given: string) => ({ ...NO_TEMPLATE, text: given });
const body = (given: string) => ({ ...NO_TEMPLATE, body: given });

function faultOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof TemplateError) return error.message;
    throw error;
  }
  return '';
}

describe('a template is refused', () => {
  test.each([
    ['a partial', '{{> x}}', 'Partials are not available in line 1, character 1.'],
    ['other delimiters', 'a\n {{=<% %>=}}', 'Delimiters cannot be changed in line 2, character 2.'],
    ['two braces too few', '{{{alert.title}}}', 'Tags must have two braces and no & in line 1'],
    ['an ampersand', '{{& alert.title}}', 'Tags must have two braces and no & in line 1'],
    ['an open tag', 'one\ntwo {{alert', 'Unclosed tag in line 2, character 12.'],
    ['an open section', '{{#alerts}}x', 'Unclosed section "alerts" in line 1, character 13.'],
    ['an end without a section', 'x{{/alerts}}', 'Unopened section "alerts" in line 1, character 2.'],
    [
      'three sections in each other',
      '{{#alerts}}{{#labels}}{{#name}}x{{/name}}{{/labels}}{{/alerts}}',
      'Sections are nested more than 2 deep in line 1, character 23.',
    ],
    ['more than 4 KiB', 'ä'.repeat(2049), 'Enter at most 4096 bytes.'],
  ])('with %s', (_name, given, fault) => {
    expect(faultOf(() => checkTemplate(text(given), 'slack'))).toContain(fault);
  });

  test.each([
    ['is no JSON', '{"text": {{alert.title}}}', 'not valid JSON for a sample'],
    ['lacks a comma in bundles', '[{{#alerts}}"{{title}}"{{/alerts}}]', 'not valid JSON for a sample'],
    ['lets a text end its string', '{"a": "\\{{alert.title}}"}', 'not valid JSON for a sample'],
  ])('as a body that %s', (_name, given, fault) => {
    expect(faultOf(() => checkTemplate(body(given), 'webhook'))).toContain(fault);
  });

  test('for a part that its type does not have', () => {
    expect(faultOf(() => checkTemplate(body('{}'), 'slack'))).toBe(
      'Templates of the type slack have these parts: title, text.',
    );
    expect(faultOf(() => checkTemplate(text('x'), 'webhook'))).toContain('have these parts: body');
  });
});

test('names that no message has are warnings, wherever they stand', () => {
  const given =
    '{{alert.title}}{{titel}}{{#alerts}}{{title}}{{iid2}}{{event}}{{/alerts}}{{^user}}{{user.mail}}{{/user}}';
  expect(checkTemplate(text(given), 'slack')).toEqual(['titel', 'iid2', 'user.mail']);
  expect(renderTexts(text('a{{titel}}b'), 'slack', FULL_SAMPLE)).toEqual({ text: 'ab' });
});

test.each([
  'constructor',
  '__proto__',
  'alert.constructor',
  'alert.title.constructor',
  'alerts.map',
  'toString',
])('no name leads from the data to code: %s', (name) => {
  expect(checkTemplate(text(`{{${name}}}{{#${name}}}x{{/${name}}}`), 'email')).toEqual([name]);
  expect(renderTexts(text(`a{{${name}}}{{#${name}}}x{{/${name}}}`), 'email', FULL_SAMPLE)).toEqual({
    text: 'a',
  });
});

test('a channel has its own title and text, and the other parts stay built in', () => {
  const template = {
    ...NO_TEMPLATE,
    title: '{{alert.severity}}: {{alert.title}}{{#more}} +{{more}}{{/more}}',
    text: '{{#alerts}}#{{iid}} {{title}}\n{{/alerts}}{{#alert.labels}}{{name}}={{value}} {{/alert.labels}}',
  };
  expect(checkTemplate(template, 'slack')).toEqual([]);
  const words = renderTexts(template, 'slack', FULL_SAMPLE);
  expect(words).toEqual({
    title: 'critical: Disk of db-7 is full +12',
    text: '#42 Disk of db-7 is full\n#43 Disk of db-8 is full\nalertname=DiskFull instance=db-7',
  });
  expect(slackBody(FULL_SAMPLE, words)).toMatchObject({
    text: words.title,
    attachments: [
      { title: words.title, text: words.text, fields: [], title_link: FULL_SAMPLE.alerts[0]?.url },
    ],
  });
});

describe('texts of senders stay texts', () => {
  test.each<[DestinationType, RegExp]>([
    ['slack', /<|>|&(?!amp;|lt;|gt;)|@(?!\u200b)|\](?=[([:])/],
    ['teams', /(?<!\\)[`*_[\]<>#~|!]/],
    ['telegram', /@(?!\u200b)/],
  ])('in %s', (type, markup) => {
    const words = renderTexts(text('{{alert.title}} {{alert.description}}'), type, messageOf(HOSTILE));
    expect(words.text).not.toMatch(markup);
    expect(words.text).toContain('your bank');
  });

  test('in titles, which are one line', () => {
    const words = renderTexts(title('{{alert.title}}\n{{project.name}}'), 'email', messageOf(HOSTILE));
    expect(words.title).not.toMatch(/[\r\n\0]/);
  });

  test('in JSON', () => {
    const template = '{"t": "{{alert.title}}", "n": {{alert.count}}, "r": "{{alert.runbook}}"}';
    const hostile = messageOf(`"} , "x": "\\ ${HOSTILE}`);
    const rendered = renderBody(template, hostile) as Record<string, unknown>;
    expect(Object.keys(rendered)).toEqual(['t', 'n', 'r']);
    expect(rendered.t).toContain('"} , "x": "\\ ');
  });
});

test('a webhook gets its own body, or the built-in one if that gives no JSON for a message', () => {
  const template =
    '{"message": "{{alert.title}}", "labels": [{{#alert.labels}}"{{name}}",{{/alert.labels}} ""]}';
  expect(checkTemplate(body(template), 'webhook')).toEqual([]);
  expect(webhookBody(FULL_SAMPLE, template)).toEqual({
    message: 'Disk of db-7 is full',
    labels: ['alertname', 'instance', ''],
  });
  const huge = madeMessage({ alerts: [madeAlert({ title: HUGE })] });
  expect(webhookBody(huge, template)).toMatchObject({
    object_kind: 'page',
    template_fault: 'the template did not render valid JSON for this message',
  });
});

describe('bombs render to little', () => {
  const many = Array.from({ length: 20 }, () => ({
    ...madeAlert({ title: HUGE, description: '\u200b'.repeat(100_000) }),
    labels: Array.from({ length: 2000 }, () => ({ name: 'label', value: HUGE })),
  }));
  const storm = madeMessage({ alerts: many, more: 9980 });
  const inLoops = (inner: string) => {
    const [start, end] = ['{{#alerts}}{{#labels}}', '{{/labels}}{{/alerts}}'];
    const repeated = inner.repeat(Math.floor((4096 - start.length - end.length) / inner.length));
    return `${start}${repeated}${end}`;
  };

  test.each([
    ['huge values', inLoops('{{value}}')],
    ['values that are nothing but hidden characters', inLoops('{{description}}')],
    ['names that nothing has', inLoops('{{x}}')],
    ['empty sections', '{{#alerts}}{{#labels}}{{/labels}}{{/alerts}}'.repeat(93)],
    ['long text', inLoops('x')],
  ])('%s', (_name, template) => {
    renderTexts(text(template), 'email', madeMessage());
    checkTemplate(text(template), 'email');
    const words = renderTexts(text(template), 'email', storm);
    const json = renderBody(`"${template}"`, storm);
    expect((words.text ?? '').length).toBeLessThanOrEqual(16_384);
    expect(json === null || typeof json === 'string').toBe(true);
  });

  test('deep and unclosed tags', () => {
    for (const bomb of ['{{#a}}', '{{', '{{{', '{{#a}}{{/a}}', '{{!', '{{#a}} \n'])
      faultOf(() => checkTemplate(text(bomb.repeat(Math.floor(4096 / bomb.length))), 'email'));
  });
});

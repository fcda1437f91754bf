import { oneLine, truncate, visible } from '../../../aggregate/alerts/formats/values.ts';
import type { MessageAlert, PageMessage } from './message.ts';

// The built-in texts of messages, before a format escapes them. Texts of senders are cut here.

const TITLE_CHARACTERS = 300;
const DESCRIPTION_LINES = 20;
const FACT_CHARACTERS = 300;
/** Limit of names of projects and users, and of reasons. */
const NAME_CHARACTERS = 100;
/** Limit of titles in a list of alerts. */
const ITEM_CHARACTERS = 100;

interface Fact {
  readonly name: string;
  readonly value: string;
}

/** The alert that names the message: its most severe one. */
export const firstAlert = ({ alerts }: PageMessage): MessageAlert => {
  const [first] = alerts;
  if (first === undefined) throw new Error('a message has at least one alert');
  return first;
};

/** The tag of a message: the severity of a new page, otherwise the event. */
export const tagOf = (message: PageMessage): string =>
  message.event === 'triggered' || message.event === 'exhausted'
    ? firstAlert(message).severity
    : message.event;

/** The headline on one line, without the tag. */
export function headlineOf(message: PageMessage): string {
  const { event, alerts, more } = message;
  const others = alerts.length - 1 + more;
  const title = truncate(oneLine(firstAlert(message).title), TITLE_CHARACTERS);
  const prefix = event === 'exhausted' ? `${exhaustedReason(message)}: ` : '';
  return `${prefix}${title}${others === 0 ? '' : ` and ${others} more`}`;
}

export const projectNameOf = ({ project }: PageMessage): string => shortName(project.name);

const shortName = (text: string): string => truncate(oneLine(text), NAME_CHARACTERS);

/** The event in one sentence; '' if the headline says it. */
function leadOf(message: PageMessage): string {
  const by = shortName(message.page.by);
  switch (message.event) {
    case 'triggered':
      return '';
    case 'acknowledged':
      return by === '' ? 'The alert was acknowledged.' : `Acknowledged by ${by}.`;
    case 'resolved':
      return by === '' ? 'The alert is resolved.' : `Resolved by ${by}.`;
    case 'exhausted':
      return `${exhaustedReason(message)}. All steps of the escalation policy were carried out.`;
    case 'test':
      return 'This is a test. No alert was created.';
  }
}

function exhaustedReason({ page }: PageMessage): string {
  const reason = shortName(page.reason) || 'nobody acknowledged';
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

/** The first lines of the description. */
function descriptionOf(alert: MessageAlert): string {
  const lines = visible(alert.description)
    .trim()
    .split(/\r\n|[\n\r\u2028\u2029]/);
  const shown = lines.slice(0, DESCRIPTION_LINES).join('\n');
  return lines.length > DESCRIPTION_LINES ? `${shown}\n...` : shown;
}

/** Facts about the alert of a message, without blanks. */
export function factsOf(message: PageMessage): Fact[] {
  const alert = firstAlert(message);
  const facts = [
    { name: 'Severity', value: alert.severity },
    { name: 'Project', value: projectNameOf(message) },
    { name: 'Service', value: alert.service },
    { name: 'Environment', value: alert.environment },
    { name: 'Started', value: alert.started_at },
    { name: 'Policy', value: policyText(message) },
    { name: 'Runbook', value: alert.runbook },
  ];
  return facts
    .map(({ name, value }) => ({ name, value: truncate(oneLine(value), FACT_CHARACTERS).trim() }))
    .filter(({ value }) => value !== '');
}

/** The policy, with round and step if the page is triggered. */
const policyText = ({ event, page: { policy, round, step } }: PageMessage): string =>
  event === 'triggered' && policy !== '' ? `${policy}, round ${round}, step ${step}` : policy;

/** One line for each alert of a bundle; none for a message of one alert. */
function itemsOf({ alerts, more }: PageMessage): string[] {
  if (alerts.length === 1 && more === 0) return [];
  const items = alerts.map(({ iid, severity, title }) => `[${severity}] #${iid} ${shortTitle(title)}`);
  return more === 0 ? items : [...items, `and ${more} more`];
}

const shortTitle = (title: string): string => truncate(oneLine(title), ITEM_CHARACTERS);

/** The event, then the alerts of a bundle or the description of a single alert. */
export function bodyOf(message: PageMessage, charactersMax: number): string {
  const items = itemsOf(message);
  const paragraphs = [
    leadOf(message),
    message.duplicatePossible ? 'This message may have been sent before.' : '',
    items.length > 0 ? items.join('\n') : descriptionOf(firstAlert(message)),
  ];
  return truncate(paragraphs.filter((text) => text !== '').join('\n\n'), charactersMax);
}

import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { RequestRefused } from '../model/access.ts';

interface ScheduleInput {
  readonly name: string;
  readonly description: string;
  readonly time_zone: string;
}

export const scheduleIn = (form: Form): ScheduleInput => ({
  name: form.text('name'),
  description: form.text('description'),
  time_zone: form.text('time_zone'),
});

export function scheduleFields(
  { name, description, time_zone }: ScheduleInput,
  error: RequestRefused | null,
): Html {
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  return html`${textField({ name: 'name', label: 'Name', value: name, hint: 'For example, Primary.', fault: faultOf('name') })}
${textField({ name: 'time_zone', label: 'Time zone', value: time_zone, list: 'time-zones', hint: 'For example, Europe/Berlin. Handoffs follow its clock, daylight saving time included.', fault: faultOf('time_zone') })}
${textField({ name: 'description', label: 'Description', value: description, required: false, hint: 'Optional.', fault: faultOf('description') })}`;
}

/** Suggestions for time zone fields. */
export const timeZoneList: Html = html`<datalist id="time-zones">${[
  'UTC',
  ...Intl.supportedValuesOf('timeZone'),
].map((zone) => html`<option value="${zone}">`)}</datalist>`;

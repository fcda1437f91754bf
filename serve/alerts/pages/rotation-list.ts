import { table } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import { PROJECT_ROLES } from '../model/access.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import type { Revision, Rotation } from '../oncall/rotations.ts';
import type { Visit } from './frame.ts';
import { schedulePath } from './schedule-parts.ts';
import { type Clocks, momentBy } from './zone-times.ts';

interface RotationSection {
  readonly schedule: OncallSchedule;
  readonly rotations: readonly Rotation[];
  readonly visit: Visit;
  readonly nameOf: (user: string) => string;
  readonly clocks: Clocks;
}

/** The rotations of a schedule with their turns. */
export function rotationSection({ schedule, rotations, visit, nameOf, clocks }: RotationSection): Html {
  const mayEdit = visit.membership.level >= PROJECT_ROLES.Maintainer;
  const base = `${schedulePath(schedule)}/rotations`;
  const rows = rotations.map((rotation) => {
    const { id, name, turns, priority, active_times, upcoming } = rotation;
    const facts = [
      handoffText(rotation),
      ...(priority > 0 ? [`priority ${priority}`] : []),
      ...(active_times.length > 0 ? ['active at set times'] : []),
    ];
    return [
      html`${mayEdit ? html`<a href="${base}/${id}">${name}</a>` : name} <span class="under other-clock">${facts.join(', ')}</span>${upcoming.map((revision) => html` <span class="under other-clock">${revisionText(revision)} ${momentBy(revision.effective_ms, clocks)}</span>`)}`,
      html`${turnsText(turns, nameOf)}`,
    ];
  });
  const head = ['Rotation', 'Turns'];
  const empty = 'No rotations yet: nobody is on call. Add one with the people who take turns.';
  return html`<section class="card plain"><h2>Rotations</h2>${table({ caption: 'Rotations', head, rows, empty })}
${mayEdit && html`<a class="button" href="${base}/new">Add rotation</a>`}</section>`;
}

const revisionText = ({ ends_rotation }: Revision): string => (ends_rotation ? 'ends' : 'changes');

const turnsText = (turns: Revision['turns'], nameOf: (user: string) => string): string =>
  turns.map((users) => (users.length === 0 ? 'nobody' : users.map(nameOf).join(' and '))).join(', then ');

/** Every 2 weeks from 2027-03-22 09:00 on. */
function handoffText({ length, unit, starts_at, ends_at }: Revision): string {
  const every = length === 1 ? `every ${unit.slice(0, -1)}` : `every ${length} ${unit}`;
  const until = ends_at === null ? '' : `, until ${ends_at.replace('T', ' ')}`;
  return `${every} from ${starts_at.replace('T', ' ')}${until}`;
}

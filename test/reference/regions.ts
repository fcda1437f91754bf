import { type AccountKey, parseAccount } from './accounts.ts';
import { account, type Emitted, planck, type RegionId, regionAt, regionsAt, whole } from './coretime.ts';

export type Region = RegionId & {
  end: number;
  owner: AccountKey | null;
  task: number | null;
  status: 'owned' | 'assigned' | 'pooled' | 'partitioned' | 'interlaced' | 'dropped';
  paid: bigint | null;
  parent: RegionId | null;
  createdBlock: number | null;
  updatedAt: number;
};

/** Every region as the broker's events leave it. */
export function regionsOf(events: readonly Emitted[]): readonly Region[] {
  const regions = new Map<string, Region>();
  for (const emitted of events) tell(regions, emitted);
  return [...regions.values()];
}

const nameOf = ({ begin, core, mask }: RegionId) => `${begin}/${core}/${mask}`;

function tell(regions: Map<string, Region>, emitted: Emitted): void {
  const { method, data } = emitted.event;
  switch (method) {
    case 'Purchased': {
      const id = regionAt(data[1]);
      const bought = unknownRegion(id, id.begin + whole(data[3]), emitted);
      regions.set(nameOf(id), {
        ...bought,
        owner: account(data[0]),
        paid: planck(data[2]),
        createdBlock: emitted.block.height,
      });
      break;
    }
    case 'Partitioned':
      divide(regions, emitted, 'partitioned');
      break;
    case 'Interlaced':
      divide(regions, emitted, 'interlaced');
      break;
    case 'Transferred':
      change(regions, emitted, whole(data[1]), { owner: parseAccount(data[3]) });
      break;
    case 'Assigned':
      change(regions, emitted, whole(data[1]), { status: 'assigned', task: whole(data[2]) });
      break;
    case 'Pooled':
      change(regions, emitted, whole(data[1]), { status: 'pooled' });
      break;
    case 'RegionDropped':
      change(regions, emitted, whole(data[1]), { status: 'dropped' });
      break;
    case 'AssignmentRemoved':
    case 'RegionUnpooled':
      change(regions, emitted, null, { status: 'owned', task: null });
      break;
  }
}

function unknownRegion(id: RegionId, end: number, emitted: Emitted): Region {
  return {
    ...id,
    end,
    owner: null,
    task: null,
    status: 'owned',
    paid: null,
    parent: null,
    createdBlock: null,
    updatedAt: emitted.block.time,
  };
}

/** An unknown region can only be taken up by an event that says how long it lasts. */
function change(
  regions: Map<string, Region>,
  emitted: Emitted,
  duration: number | null,
  fields: Partial<Region>,
): void {
  const id = regionAt(emitted.event.data[0]);
  const taken = duration === null ? undefined : unknownRegion(id, id.begin + duration, emitted);
  const region = regions.get(nameOf(id)) ?? taken;
  if (region) regions.set(nameOf(id), { ...region, ...fields, updatedAt: emitted.block.time });
}

function divide(regions: Map<string, Region>, emitted: Emitted, status: 'partitioned' | 'interlaced'): void {
  const { block, event } = emitted;
  const id = regionAt(event.data[0]);
  const old = regions.get(nameOf(id));
  if (!old) return;
  const parts = regionsAt(event.data[1]);
  const pivot = parts[1]?.begin ?? old.end;
  const livesOn = parts.some((part) => nameOf(part) === nameOf(id));
  if (!livesOn) regions.set(nameOf(id), { ...old, status, updatedAt: block.time });
  parts.forEach((part, position) => {
    // What does not fit together, because blocks are missing, ends where it begins.
    const end = Math.max(part.begin, status === 'partitioned' && position === 0 ? pivot : old.end);
    const { begin, core, mask } = id;
    const isItself = nameOf(part) === nameOf(id);
    regions.set(nameOf(part), {
      ...part,
      end,
      owner: old.owner,
      task: null,
      status: 'owned',
      paid: null,
      parent: isItself ? old.parent : { begin, core, mask },
      createdBlock: isItself ? old.createdBlock : block.height,
      updatedAt: block.time,
    });
  });
}

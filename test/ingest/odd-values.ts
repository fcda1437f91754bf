import type { Random } from '../../ingest/demo/random.ts';
import { ALICE, madeBlock, madeEvent, madeExtrinsic } from './made.ts';

// Values that no chain should give, in every place where a block or a snapshot has one of their kind.

const KEY32 = `0x${'12'.repeat(32)}`;
const KEY20 = `0x${'ab'.repeat(20)}`;

/** Each with whether it is an account. */
export const ADDRESSES: readonly (readonly [value: unknown, isAccount: boolean])[] = [
  [KEY32, true],
  [KEY20, true],
  [ALICE, true],
  [{ id: ALICE }, true],
  [{ address20: KEY20 }, true],
  [`0x${'12'.repeat(33)}`, false],
  [`0x${'zz'.repeat(32)}`, false],
  [`0x${'0g'.repeat(20)}`, false],
  ['0x', false],
  ['', false],
  [{}, false],
  [null, false],
  [7, false],
  [[], false],
  [{ index: '7' }, false],
  ['z'.repeat(100_000), false],
  ['\ud83d\ude00'.repeat(20), false],
  ['\u0000', false],
  ['__proto__', false],
];
/** Each with whether it is an amount. */
export const AMOUNTS: readonly (readonly [value: unknown, isAmount: boolean])[] = [
  ['0', true],
  ['0xff', true],
  [(2n ** 128n - 1n).toString(), true],
  ['-1', false],
  [-1, false],
  ['1.5', false],
  [1.5, false],
  [(2n ** 128n).toString(), false],
  [(2n ** 256n).toString(), false],
  [`0x1${'0'.repeat(32)}`, false],
  ['many', false],
  ['1e3', false],
  ['1,000', false],
  ['', false],
  [null, false],
  [{}, false],
  [[], false],
];
const INDEXES: readonly unknown[] = [
  0,
  '7',
  -1,
  '-1',
  1.5,
  2 ** 53,
  '99999999999999999999',
  '0xff',
  'x',
  '',
  null,
  {},
  [],
];
const NAMES: readonly string[] = [
  '',
  'x'.repeat(5000),
  '_'.repeat(5000),
  '\u0000\u0001\u001f',
  '__proto__',
  'constructor',
  '*',
  "'; DROP TABLE blocks; --",
  '\u202e\ud83d\ude00\u0301',
  '\ufeff\uffff',
];

const KNOWN_EVENTS: readonly (readonly [
  name: string,
  fields: readonly ('account' | 'amount' | 'index')[],
])[] = [
  ['balances.Transfer', ['account', 'account', 'amount']],
  ['balances.Deposit', ['account', 'amount']],
  ['system.NewAccount', ['account']],
  ['staking.Rewarded', ['account', 'amount']],
  ['nominationPools.PaidOut', ['account', 'index', 'amount']],
  ['treasury.Deposit', ['amount']],
  ['transactionPayment.TransactionFeePaid', ['account', 'amount', 'amount']],
  ['revive.Instantiated', ['account', 'account']],
  ['referenda.ConfirmStarted', ['index']],
  ['childBounties.Claimed', ['index', 'index', 'amount', 'account']],
  ['broker.Purchased', ['account', 'index', 'amount', 'index']],
  ['convictionVoting.Voted', ['account', 'index', 'index']],
];

export interface OddBlock {
  readonly payload: object;
  /** Facts that have to be refused, as `refused_facts` names them. */
  readonly refused: readonly string[];
}

/** A block whose every part may be odd, but for what makes it one. */
export function oddBlock(number: number, random: Random): OddBlock {
  const refused: string[] = [];
  const events = Array.from({ length: random.whole(1, 6) }, (_, i) => {
    if (random.chance(0.2))
      return madeEvent(`${random.pick(NAMES)}.${random.pick(NAMES)}`, random.pick(INDEXES));
    const [name, fields] = random.pick(KNOWN_EVENTS);
    let isBad = false;
    const data = fields.map((field) => {
      if (field === 'index') return random.pick(INDEXES);
      const [value, isGood] = random.pick<readonly [unknown, boolean]>(
        field === 'account' ? ADDRESSES : AMOUNTS,
      );
      // The last amount of a fee is its tip, which no fact is taken from.
      if (!isGood && !(name.endsWith('FeePaid') && field === 'amount')) isBad = true;
      return value;
    });
    // The clock's outcome is the first event of the block.
    if (isBad) refused.push(`event ${i + 1} ${name}`);
    return madeEvent(name, ...data);
  });
  const inner = {
    method: {
      pallet: random.pick([...NAMES, 'system', 'revive']),
      method: random.pick([...NAMES, 'remark', 'call']),
    },
    args: {
      value: random.pick(AMOUNTS)[0],
      dest: random.pick(ADDRESSES)[0],
      [random.pick(NAMES)]: random.pick(INDEXES),
    },
  };
  const wrapper = random.pick([
    'utility.withWeight',
    'utility.batch',
    'utility.asDerivative',
    'proxy.proxy',
    'sudo.sudoAs',
  ]);
  const extrinsics = [
    madeExtrinsic('a.b', { events }),
    madeExtrinsic(wrapper, {
      signature: { signer: random.pick(ADDRESSES)[0] },
      tip: random.pick(AMOUNTS)[0],
      args: {
        call: inner,
        calls: [inner, random.pick(INDEXES)],
        index: random.pick(INDEXES),
        real: random.pick(ADDRESSES)[0],
      },
      events: [
        madeEvent('utility.BatchCompleted'),
        madeEvent('proxy.ProxyExecuted', random.pick(['Ok', null, {}])),
      ],
    }),
    madeExtrinsic('revive.ethTransact', {
      args: { payload: random.pick([KEY32, '0x', `0x${'c0'.repeat(50)}`, null, {}]) },
    }),
  ];
  return { payload: madeBlock(number, extrinsics, { authorId: String(random.pick(ADDRESSES)[0]) }), refused };
}

/** A snapshot or price with an odd value somewhere; whether it is taken or refused is up to its schema. */
export function oddSnapshot(minute: number, random: Random): object {
  const amount = () => random.pick(AMOUNTS)[0];
  const address = () => random.pick(ADDRESSES)[0];
  const index = () => random.pick(INDEXES);
  const [kind, payload] = random.pick<[string, object]>([
    ['issuance', { total: amount(), inactive: amount() }],
    ['price', { symbol: random.pick(NAMES), usd: random.pick<unknown>([1, -1, 1e300, '5', null, {}, 0]) }],
    ['tvl', { tvl_usd: random.pick<unknown>([1, -1, 1e99, '5', null]) }],
    [
      'delegations',
      {
        delegations: [
          { delegator: address(), target: address(), track: index(), conviction: index(), balance: amount() },
        ],
      },
    ],
    [
      'treasury_balance',
      { balances: [{ account: address(), asset: random.pick(NAMES), decimals: index(), amount: amount() }] },
    ],
    ['account_count', { count: index() }],
    [random.pick(NAMES), { [random.pick(NAMES)]: index() }],
  ]);
  const as_of = random.pick([
    new Date(Date.UTC(2026, 0, 2, 0, minute % 1440)).toISOString(),
    '1800-01-01T00:00:00Z',
    '9999-12-31T23:59:59-23:59',
    'x',
  ]);
  return {
    schema: 'snapshot/1',
    kind,
    relay_chain: 'polkadot',
    chain: 'polkadot',
    as_of,
    block_number: index(),
    payload,
  };
}

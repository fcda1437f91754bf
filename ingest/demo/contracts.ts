import { addr, Transaction } from 'micro-eth-signer';
import type { Chain } from '../chains/chain.ts';
import { h160Of } from '../chains/h160.ts';
import type { DemoEvent } from './blocks.ts';
import { type Cast, hexOf } from './cast.ts';
import type { DayBook } from './day-book.ts';
import type { Random } from './random.ts';

interface DemoCode {
  readonly hash: string;
  readonly owner: string;
  readonly type: 'PVM' | 'EVM';
  readonly length: number;
}

const CODES = 7;
const DEVELOPERS = 12;
const CHAIN_ID = 420_420_419n;
/** Keys that sign Ethereum transactions of the demo, and nothing else. */
const SECRETS = ['d1', 'd2', 'd3', 'd4'].map((byte) => byte.repeat(32));
const SELECTORS = ['0xa9059cbb', '0x095ea7b3', '0x38ed1739', '0xd0e30db0', '0xdeadbeef'];

/** The first day with contracts, calls of an average day, and the probability of a deployment or Ethereum transaction. */
export interface ContractsPace {
  readonly since: number;
  readonly calls: number;
  readonly deployments: number;
}

/** The contracts of one asset hub: codes, deployments, and a growing number of calls. */
export class Contracts {
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #codes: readonly DemoCode[];
  readonly #contracts: { readonly address: string; readonly code: string; readonly since: number }[] = [];
  readonly #pace: ContractsPace;

  constructor(random: Random, cast: Cast, chain: Chain, pace: ContractsPace) {
    this.#random = random;
    this.#cast = cast;
    this.#pace = pace;
    this.#codes = Array.from({ length: CODES }, (_, i) => ({
      hash: hexOf(random, 32),
      owner: cast.addressOf(cast.at(i % DEVELOPERS), chain),
      type: i % 3 === 2 ? 'EVM' : 'PVM',
      length: random.whole(2000, 90_000),
    }));
  }

  write(book: DayBook, activity: number): void {
    const random = this.#random;
    if (book.day < this.#pace.since) return;
    if (this.#contracts.length === 0 || random.chance(this.#pace.deployments * book.passed))
      this.#deploy(book);
    const calls = Math.round(this.#pace.calls * activity * (0.6 + 0.8 * random.fraction()));
    for (let made = 0; made < calls; made++) this.#call(book);
    if (random.chance(this.#pace.deployments * book.passed)) this.#transact(book);
  }

  /** The payload of a `contract_code` snapshot. */
  state(day: number): object {
    const random = this.#random;
    return {
      code: this.#codes.map(({ hash, owner, type, length }, i) => ({
        ...{ code_hash: hash, owner, code_type: type, code_len: length },
        deposit: String(BigInt(length) * 1_000_000n),
        refcount: this.#contracts.filter(({ code }) => code === hash).length,
        behaviour_version: i % 2,
      })),
      contracts: this.#contracts.map(({ address, code, since }) => ({
        ...{ contract_address: address, code_hash: code },
        storage_bytes: 200 + (day - since) * random.whole(10, 60),
        storage_items: 3 + (day - since),
      })),
    };
  }

  #common(book: DayBook): object {
    const random = this.#random;
    return {
      value: random.chance(0.3) ? book.planck(random.fraction() * 20) : '0',
      weight_limit: { refTime: String(random.whole(10 ** 8, 10 ** 9)), proofSize: '65536' },
      storage_deposit_limit: book.planck(1),
    };
  }

  #deploy(book: DayBook): void {
    const random = this.#random;
    const deployer = this.#cast.at(random.whole(0, DEVELOPERS - 1));
    const code = random.pick(this.#codes);
    const isNew = random.chance(0.25);
    const codeArg = isNew ? { code: '0x50564d00' } : { code_hash: code.hash };
    const args = { ...this.#common(book), ...codeArg, data: '0x60016002', salt: null };
    const call = isNew ? 'revive.instantiateWithCode' : 'revive.instantiate';
    book.sign(deployer, call, args, [this.#created(book, h160Of(deployer), code)]);
  }

  #created(book: DayBook, deployer: string, { hash }: DemoCode): DemoEvent {
    const address = hexOf(this.#random, 20);
    this.#contracts.push({ address, code: hash, since: book.day });
    return ['revive.Instantiated', deployer, address];
  }

  #call(book: DayBook): void {
    const random = this.#random;
    const dest = this.#someContract();
    const data = `${random.pick(SELECTORS)}${'00'.repeat(random.pick([0, 32, 64]))}`;
    const emitted = Array.from(
      { length: random.pick([0, 1, 1, 2]) },
      (): DemoEvent => ['revive.ContractEmitted', dest, '0x', []],
    );
    const caller = this.#cast.randomKey(100);
    book.sign(caller, 'revive.call', { dest, ...this.#common(book), data }, emitted, {
      success: !random.chance(0.06),
    });
  }

  /** Adds an Ethereum transaction. It contains its own signature. */
  #transact(book: DayBook): void {
    const random = this.#random;
    const secret = random.pick(SECRETS);
    const isCreation = random.chance(0.15);
    const to = isCreation ? '0x' : this.#someContract();
    const payload = Transaction.prepare(
      {
        ...{ type: 'eip1559', chainId: CHAIN_ID, to, nonce: BigInt(book.day) },
        ...{
          value: BigInt(random.whole(0, 40)) * 10n ** 17n,
          gasLimit: BigInt(random.whole(40_000, 400_000)),
        },
        ...{ maxFeePerGas: BigInt(random.whole(1, 9)) * 10n ** 9n, maxPriorityFeePerGas: 1n },
        data: isCreation ? '0x60016002' : random.pick(SELECTORS),
      } as never,
      false,
    )
      .signBy(secret)
      .toHex();
    const sender = addr.fromPrivateKey(`0x${secret}`).toLowerCase();
    const events: DemoEvent[] = isCreation
      ? [this.#created(book, sender, random.pick(this.#codes))]
      : [['revive.ContractEmitted', to, '0x', []]];
    book.addUnsigned('revive.ethTransact', { payload }, events);
  }

  #someContract(): string {
    const place = Math.floor(this.#random.fraction() ** 2 * this.#contracts.length);
    return (this.#contracts[place] as { address: string }).address;
  }
}

import { Transaction } from 'micro-eth-signer';
import type { Random } from '../../ingest/demo/random.ts';
import { h160Of } from '../reference/derived.ts';
import type { Chain } from '../reference/registry.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../reference/shaped.ts';
import { type Key, PEOPLE, printed, SECRETS, SENDERS } from './accounts.ts';
import { legacyPayload } from './ethereum.ts';
import { hashOf, type Item } from './items.ts';
import { amountOf } from './spelling.ts';
import { feeEvents, outcomes } from './transactions.ts';

const CODES = ['11', '22', '33'].map((byte) => `0x${byte.repeat(32)}`);
/** Gas that 53, 64 and 128 bits do not hold, and the largest. */
const LARGE_GAS = [2n ** 53n + 1n, 2n ** 64n + 3n, 2n ** 128n + 5n, 2n ** 200n + 7n, 2n ** 256n - 1n];

type Call = Omit<Item, 'actor'>;

/** Calls of contracts that are rare on one asset hub. */
export class OddContracts {
  readonly #random: Random;
  readonly #contracts: string[] = [];
  /** The runtime tells of every contract that it makes. */
  readonly #isWhole: boolean;

  constructor(random: Random, isWhole: boolean) {
    this.#random = random;
    this.#isWhole = isWhole;
  }

  call(actor: Key): Call {
    const random = this.#random;
    const refTime = random.chance(0.2) ? random.pick(LARGE_GAS) : random.whole(1, 10 ** 9);
    const common = {
      value: amountOf(random, BigInt(random.whole(0, 10 ** 9))),
      weight_limit: { refTime: String(refTime), proofSize: '5' },
      storage_deposit_limit: random.chance(0.5) ? null : String(random.whole(0, 10 ** 9)),
      data: random.pick(['0x', '0x0102', '0xdeadbeef', '0xdeadbeef00112233']),
    };
    const withCode = random.chance(0.5);
    const code = withCode ? { code: '0x00' } : { code_hash: random.pick(CODES) };
    const dest = this.#target();
    switch (random.pick(['call', 'ethereum', 'ethereum', 'create', 'create', 'older'])) {
      case 'call':
        return { call: 'revive.call', args: { dest, ...common }, events: this.#called(dest) };
      case 'ethereum':
        return this.#ofEthereum(actor);
      case 'older':
        if (!this.#isWhole) return this.#older(code);
    }
    return {
      call: withCode ? 'revive.instantiateWithCode' : 'revive.instantiate',
      args: { ...common, ...code, salt: null },
      events: this.#createdByCall(h160Of(actor)),
    };
  }

  /** The pallet before revive, whose contracts are not served. */
  #older(code: object): Call {
    const method = 'code' in code ? 'instantiateWithCode' : 'instantiate';
    const told: ShapedEvent = ['contracts.Made', 'by', 'it'];
    const instantiated: ShapedEvent = ['contracts.Instantiated', PEOPLE[0], PEOPLE[1]];
    return {
      call: `contracts.${method}`,
      args: { value: '0', ...code, data: '0x', salt: '0x' },
      events: this.#random.chance(0.7) ? [told, instantiated] : [told],
    };
  }

  /** What a call creates; some runtimes do not tell. */
  #createdByCall(deployer: string): readonly ShapedEvent[] {
    const isSilent = !this.#isWhole && this.#random.chance(0.12);
    return isSilent ? [] : this.#created(deployer);
  }

  /** Calls into which runtimes turn Ethereum transactions, as others may nest them. */
  #ofEthereum(actor: Key): Call {
    const random = this.#random;
    const value = String(BigInt(random.whole(0, 10 ** 6)) * 10n ** 12n);
    if (random.chance(0.4)) {
      const args = { value, code: '0x00', data: '0x6001' };
      return { call: 'revive.ethInstantiateWithCode', args, events: this.#createdByCall(h160Of(actor)) };
    }
    const dest = random.chance(0.8) ? this.#target() : `0x${'dd'.repeat(20)}`;
    const price = { effective_gas_price: String(random.pick([12n, ...LARGE_GAS])) };
    return {
      call: 'revive.ethCall',
      args: {
        ...{ dest, value, data: random.pick(['0x', '0xa9059cbb00']) },
        ...(random.chance(0.5) ? price : {}),
      },
      events: random.chance(0.2) ? [['revive.EthExtrinsicRevert', { module: {} }]] : this.#called(dest),
    };
  }

  /** An Ethereum transaction, which comes without a signature of its own. */
  ethereum(chain: Chain): ShapedExtrinsic {
    const random = this.#random;
    const sender = random.whole(0, SECRETS.length - 1);
    const isCreation = random.chance(0.3);
    const to = isCreation ? undefined : random.pick([this.#target(), `0x${'dd'.repeat(20)}`]);
    const fields = {
      to: to ?? '0x',
      value: BigInt(random.whole(0, 10 ** 6)) * 10n ** 12n,
      nonce: BigInt(random.whole(0, 99)),
      gasLimit: BigInt(random.whole(21_000, 10 ** 6)),
      data: isCreation ? '0x6001' : random.pick(['0x', '0xa9059cbb00', '0xa905']),
    };
    const payload = random.chance(0.25)
      ? legacyPayload(
          { ...fields, to: to ?? '0x', gasLimit: random.pick(LARGE_GAS), gasPrice: random.pick(LARGE_GAS) },
          SECRETS[sender] as string,
        )
      : payloadOf(random, SECRETS[sender] as string, fields);
    const success = !random.chance(0.1);
    const isReverted = success && random.chance(0.15);
    const happened = !success
      ? []
      : isReverted
        ? ([['revive.EthExtrinsicRevert', { module: {} }]] as const)
        : to === undefined
          ? this.#createdByCall(SENDERS[sender] as string)
          : this.#called(to);
    const paid = random.chance(0.5)
      ? []
      : feeEvents(random, printed(random, PEOPLE[sender] as string, chain));
    return {
      call: 'revive.ethTransact',
      args: { payload },
      hash: hashOf(random),
      success,
      ...outcomes(random, this.#isWhole, success, [...happened, ...paid]),
    };
  }

  /** What the state lists: not always every contract, and some that no block told of. */
  state(stated: object): object {
    const random = this.#random;
    const { code, contracts } = stated as { code: object[]; contracts: object[] };
    const unseen = [`0x${'ee'.repeat(20)}`, ...this.#contracts].map((contract_address) => ({
      ...{ contract_address, code_hash: random.pick(CODES) },
      ...{ storage_bytes: random.whole(0, 10 ** 6), storage_items: random.whole(0, 99) },
    }));
    const some = <T>(all: readonly T[]) => all.filter(() => random.chance(0.8));
    return { code: some(code), contracts: [...some(contracts), ...some(unseen)] };
  }

  #target(): string {
    const unknown = `0x${this.#random.pick(['c1', 'c2']).repeat(20)}`;
    return this.#contracts.length > 0 && this.#random.chance(0.8)
      ? this.#random.pick(this.#contracts)
      : unknown;
  }

  #called(contract: string): readonly ShapedEvent[] {
    const emitters = Array.from({ length: this.#random.whole(0, 2) }, () =>
      this.#random.chance(0.7) ? contract : this.#target(),
    );
    const emitted = emitters.map((emitter): ShapedEvent => ['revive.ContractEmitted', emitter, '0x', []]);
    // A contract may create another one.
    return this.#random.chance(0.15) ? [...emitted, ...this.#created(contract)] : emitted;
  }

  #created(deployer: string): readonly ShapedEvent[] {
    const contract = hashOf(this.#random).slice(0, 42);
    this.#contracts.push(contract);
    const inner = this.#random.chance(0.15) ? this.#created(contract) : [];
    return [...inner, ['revive.Instantiated', deployer, contract]];
  }
}

type Fields = {
  readonly to: string;
  readonly value: bigint;
  readonly nonce: bigint;
  readonly gasLimit: bigint;
  readonly data: string;
};

/** A transaction as wallets sign it. */
function payloadOf(random: Random, secret: string, fields: Fields): string {
  const price = BigInt(random.whole(1, 10 ** 9));
  const typed = random.chance(0.5)
    ? { type: 'legacy', chainId: 420420419n, gasPrice: price, ...fields }
    : { type: 'eip1559', chainId: 420420419n, maxFeePerGas: price, maxPriorityFeePerGas: 1n, ...fields };
  return Transaction.prepare(typed as never, false)
    .signBy(secret)
    .toHex();
}

import { encodeAddress } from '../../../ingest/chains/address.ts';
import { accountOfH160 } from '../../../ingest/chains/h160.ts';
import { count, name, text, timestamp } from '../../columns.ts';
import { metric } from '../../metric.ts';
import {
  type ContractCall,
  DEPLOY_METHODS,
  NO_VALUE,
  valueColumns,
  valueFields,
} from './folds/contract-calls.ts';
import { contractExtrinsics } from './folds/contract-extrinsics.ts';
import { type ContractFact, creationFacts } from './folds/contract-facts.ts';

/** Creations of contracts; an address may have several. No endpoint serves it. */
export const contractDeployment = metric({
  record: 'ContractDeployment',
  title: 'Contract creations',
  domain: 'contracts',
  doc: 'Creations of contracts, from their events and calls.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain'),
    contract_address: text('address of the contract, H160'),
    deployer: text('address that created it, H160'),
    deployer_account: text('account of the deploying call; null when another contract deployed', {
      nullable: true,
    }),
    code_hash: text('hash of the code, if the call names it', { nullable: true }),
    block_number: count('height'),
    event_index: count('index of the event in the block'),
    block_timestamp: timestamp('time of the block'),
    extrinsic_id: text('`<block>-<extrinsic>`; null outside of extrinsics', { nullable: true }),
    extrinsic_hash: text('hash of the extrinsic', { nullable: true }),
    deploy_method: name('how it was deployed', { values: DEPLOY_METHODS }),
    ...valueColumns,
    place: count('0 for the initialization of the block, extrinsics from 1, then the finalization'),
  },
  key: ['relay_chain', 'chain', 'block_number', 'event_index'],
  materialized: 'hourly',
  select: creationFacts,
  version: 2,
  fold: (facts: readonly ContractFact[], { relay_chain }) =>
    contractExtrinsics(facts).flatMap((extrinsic) =>
      extrinsic.created.map(({ contract, deployer, event_index, by }) => ({
        relay_chain,
        chain: extrinsic.chain,
        contract_address: contract,
        deployer,
        deployer_account: by === null ? null : encodeAddress(accountOf(by, deployer), extrinsic.prefix),
        code_hash: by?.code_hash ?? null,
        block_number: extrinsic.number,
        event_index,
        block_timestamp: extrinsic.time,
        extrinsic_id:
          extrinsic.extrinsic_index === null ? null : `${extrinsic.number}-${extrinsic.extrinsic_index}`,
        extrinsic_hash: extrinsic.hash,
        deploy_method: by?.deploys ?? 'internal',
        ...valueFields(by?.value ?? NO_VALUE),
        place: extrinsic.place,
      })),
    ),
  endpoints: [],
});

/** The account of the actor, or of the deployer's address for an Ethereum transaction. */
const accountOf = ({ actor }: ContractCall, deployer: string) =>
  actor === '' ? accountOfH160(deployer) : actor;

"""The hand-written lexicon, first part: nouns, names and adjectives.

Forms that the rules of ``english.py`` and ``french.py`` do not give stand after a slash. ``*``
marks a French word with an aspirated h. A translation of several words on both sides says which
word renders which (``0-1``: the first English word gives the second French one).
"""

NOUNS = """
person
friend | ami | m
teacher | professeur | m
child/children | enfant | m
woman/women | femme | f
man/men | homme | m
neighbour | voisin | m
girl | fille | f
doctor | médecin | m
mother | mère | f
boy | garçon | m
king | roi | m
student | étudiant | m
soldier | soldat | m
actress | actrice | f
police officer | policier | m
queen | reine | f
farmer | fermier | m
writer | écrivain | m
nurse | infirmière | f
hero/heroes | *héros | m
sister | sœur | f
grandmother | grand-mère/grands-mères | f
tennis player | joueur de tennis/joueurs de tennis | m | 0-1 0-2 1-0
lawyer | avocat | m
princess | princesse | f
traveller | voyageur | m

animal
cat | chat | m
dog | chien | m
horse | cheval/chevaux | m
bird | oiseau | m
cow | vache | f
mouse/mice | souris | f
wolf/wolves | loup | m
rabbit | lapin | m
owl | *hibou/*hiboux | m
elephant | éléphant | m
hen | poule | f
polar bear | ours polaire/ours polaires | m | 0-1 1-0
hedgehog | *hérisson | m
frog | grenouille | f

food
apple | pomme | f
bread/- | pain | m
cake | gâteau | m
potato/potatoes | pomme de terre/pommes de terre | f
egg | œuf | m
cheese | fromage | m
orange | orange | f
apple pie | tarte aux pommes/tartes aux pommes | f | 0-1 0-2 1-0
soup | soupe | f
meat/- | viande | f
tomato/tomatoes | tomate | f
bean | *haricot | m
chocolate cake | gâteau au chocolat/gâteaux au chocolat | m | 0-1 0-2 1-0
pear | poire | f
onion soup | soupe à l'oignon/soupes à l'oignon | f | 0-1 0-2 1-0
lobster | *homard | m

drink
water/- | eau | f
coffee/- | café | m
wine/- | vin | m
milk/- | lait | m
orange juice/- | jus d'orange | m | 0-1 1-0
tea/- | thé | m
beer/- | bière | f

text
book | livre | m
letter | lettre | f
story | histoire | f
newspaper | journal/journaux | m
poem | poème | m
novel | roman | m
love letter | lettre d'amour/lettres d'amour | f | 0-1 1-0
article | article | m
fairy tale | conte de fées/contes de fées | m | 0-1 0-2 1-0

thing
key | clé | f
bag | sac | m
box | boîte | f
flower | fleur | f
umbrella | parapluie | m
knife/knives | couteau | m
gift | cadeau | m
bottle | bouteille | f
toothbrush | brosse à dents/brosses à dents | f
clock | horloge | f
lamp | lampe | f
axe | *hache | f
tool | outil | m
coffee cup | tasse à café/tasses à café | f | 0-1 0-2 1-0
mirror | miroir | m
harp | *harpe | f

clothes
hat | chapeau | m
dress | robe | f
coat | manteau | m
shirt | chemise | f
shoe | chaussure | f
scarf/scarves | écharpe | f
evening dress | robe du soir/robes du soir | f | 0-1 0-2 1-0
uniform | uniforme | m

furniture
table | table | f
chair | chaise | f
bed | lit | m
wardrobe | armoire | f
desk | bureau | m
shelf/shelves | étagère | f

vehicle
car | voiture | f
boat | bateau | m
train | train | m
bicycle | vélo | m
plane | avion | m
fishing boat | bateau de pêche/bateaux de pêche | m | 0-1 0-2 1-0
lorry | camion | m

place
house | maison | f
garden | jardin | m
school | école | f
town | ville | f
church | église | f
village | village | m
train station | gare | f
forest | forêt | f
hotel | hôtel | m
market | marché | m
castle | château | m
hospital | hôpital/hôpitaux | m
museum | musée | m
swimming pool | piscine | f
kitchen | cuisine | f
hamlet | *hameau | m
dining room | salle à manger/salles à manger | f | 0-1 0-2 1-0
library | bibliothèque | f
post office | bureau de poste/bureaux de poste | m | 0-1 0-2 1-0
factory | usine | f

landmark
tree | arbre | m
river | rivière | f
bridge | pont | m
wall | mur | m
tower | tour | f
bus stop | arrêt de bus/arrêts de bus | m | 0-1 0-2 1-0
mountain | montagne | f
fountain | fontaine | f
"""

NAMES = """
Paul/- | Paul | m
Mary/- | Marie | f
Peter/- | Pierre | m
Anne/- | Anne | f
Louis/- | Louis | m
Julia/- | Julie | f
"""

# Place of the adjective: before or after the French noun. Third column: feminine, if irregular,
# and the masculine before a vowel. Last column: the classes of nouns that it goes with.
ADJECTIVES = """
before
young | jeune | person animal
new | nouveau/nouvelle/nouvel | text thing clothes furniture vehicle place
big | grand | person animal food thing clothes furniture vehicle place landmark
small | petit | person animal food thing clothes furniture vehicle place landmark
old | vieux/vieille/vieil | person animal text thing clothes furniture vehicle place landmark
beautiful | beau/belle/bel | animal person text thing clothes furniture vehicle place landmark
good | bon | food drink text person
pretty | joli | thing clothes furniture place text
bad | mauvais | text
huge | énorme | food animal furniture vehicle landmark place
excellent | excellent | drink food text

after
black | noir | animal clothes thing furniture vehicle
happy | heureux | person animal
red | rouge | clothes thing vehicle furniture
white | blanc/blanche | clothes animal vehicle furniture
delicious | délicieux | food drink
famous | célèbre | person place text landmark
tired | fatigué | person animal
blue | bleu | clothes vehicle thing furniture
intelligent | intelligent | person animal
interesting | intéressant | text place
green | vert | vehicle clothes furniture thing
rich | riche | person
strange | étrange | text place landmark animal thing
cold | froid | drink food
grey | gris | animal vehicle clothes
sad | triste | person text
heavy | lourd | thing furniture
hot | chaud | food drink
dangerous | dangereux | animal landmark
quiet | calme | place
jealous | jaloux/jalouse | person
useful | utile | thing text vehicle
sweet | sucré | food drink
honest | honnête | person
brown | marron/marron | animal clothes furniture
modern | moderne | vehicle furniture place
fresh | frais/fraîche | food drink
Italian | italien | person food clothes
light | léger | clothes thing furniture
magnificent | magnifique | place landmark
proud | fier | person
English | anglais | person text
secret | secret/secrète | text
abandoned | abandonné | place vehicle
solid | solide | furniture landmark
wild | sauvage | animal
"""

# Never after "very" or "too", nor after "as".
UNGRADED = "new huge excellent delicious magnificent Italian English abandoned secret brown"
# Not after "be".
ATTRIBUTIVE = "new excellent"
